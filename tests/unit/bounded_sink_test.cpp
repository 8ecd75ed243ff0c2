// SPDX-License-Identifier: Apache-2.0
/// Sinks whose files may grow to a bound only.
#include <tracer/sink.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/recording.hpp>

#include "sample_events.hpp"
#include "temp_file.hpp"

using namespace tracer;

namespace {

constexpr std::size_t kBound = OutputLimit::kLeastBytes;

/// What hardly can be compressed: about 200 bytes each.
std::vector<Event> losses(std::size_t count) {
  std::mt19937_64 random(1);
  std::vector<Event> events;
  for (std::size_t i = 0; i < count; ++i) {
    std::string cause = std::to_string(i) + " ";
    while (cause.size() < 200) cause += static_cast<char>('0' + random() % 64);
    events.emplace_back(sample_events::loss(i + 1, cause, 1));
  }
  return events;
}

Event session_end() {
  SessionEnd end;
  end.time_ns = 1;
  return end;
}

int create(const std::filesystem::path& file) {
  return ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
}

std::unique_ptr<Sink> make(bool json, const std::filesystem::path& file, OutputLimit limit) {
  return json ? json_sink(create(file), file, HostInfo{}, std::move(limit))
              : recording_sink(create(file), file, HostInfo{}, std::move(limit));
}

struct Read {
  std::vector<std::string> lines;  ///< Of events as JSON.
  RecordingDamage damage;
};

Read read(bool json, const std::filesystem::path& file) {
  Read read;
  if (json) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) read.lines.push_back(line);
    REQUIRE_FALSE(read.lines.empty());
    CHECK(read.lines.front() == to_json(HostInfo{}));
    read.lines.erase(read.lines.begin());
    return read;
  }
  RecordingReader reader(file);
  while (const auto event = reader.next()) read.lines.push_back(to_json(*event));
  read.damage = reader.damage();
  return read;
}

}  // namespace

TEST_CASE("a sink stops at its bound, and its file ends with what is not in it") {
  for (const bool json : {false, true}) {
    CAPTURE(json);
    const TempFile file;
    const auto events = losses(20'000);
    const auto sink = make(json, file.path(), {.max_bytes = kBound});
    sink->write(events);
    const Event end = session_end();
    sink->write({&end, 1});
    sink->flush();
    CHECK(file.bytes().size() <= kBound);
    CHECK(file.bytes().size() > kBound / 2);
    const Read back = read(json, file.path());
    CHECK_FALSE(back.damage.any());
    REQUIRE(back.lines.size() > 2);
    const std::size_t kept = back.lines.size() - 2;
    for (std::size_t i = 0; i < kept; ++i) CHECK(back.lines[i] == to_json(events[i]));
    Loss loss;
    loss.time_ns = 1;
    loss.cause = "file_full";
    loss.count = events.size() - kept;
    CHECK(back.lines[kept] == to_json(loss));
    CHECK(back.lines[kept + 1] == to_json(end));
    REQUIRE(sink->problem().has_value());
    CHECK(sink->problem()->error_number == EFBIG);
    CHECK(sink->problem()->what.find(std::to_string(loss.count) + " events are not in it") != std::string::npos);
  }
}

TEST_CASE("a bound that is never reached changes nothing") {
  for (const bool json : {false, true}) {
    const TempFile with;
    const TempFile without;
    const auto events = losses(100);
    for (const bool bounded : {false, true}) {
      const auto sink = make(json, (bounded ? with : without).path(), {.max_bytes = bounded ? kBound : 0});
      sink->write(events);
      sink->flush();
      CHECK_FALSE(sink->problem().has_value());
    }
    CHECK(read(json, with.path()).lines == read(json, without.path()).lines);
  }
}

TEST_CASE("a sink goes on in further files, each of which is read by itself, and none of which is cut") {
  for (const bool json : {false, true}) {
    CAPTURE(json);
    const TempFile folder;
    const auto name = [&](std::size_t number) { return folder.folder() / std::to_string(number); };
    std::size_t files = 1;
    const auto events = losses(20'000);
    const auto sink = make(json, name(0), {.max_bytes = kBound, .next_file = [&] { return create(name(files++)); }});
    for (std::size_t i = 0; i < events.size(); i += 100) sink->write(std::span(events).subspan(i, 100));
    const Event end = session_end();
    sink->write({&end, 1});
    sink->flush();
    CHECK_FALSE(sink->problem().has_value());
    REQUIRE(files > 3);
    std::size_t next = 0;
    for (std::size_t i = 0; i < files; ++i) {
      CAPTURE(i);
      CHECK(std::filesystem::file_size(name(i)) <= kBound);
      Read back = read(json, name(i));
      CHECK_FALSE(back.damage.any());
      if (i + 1 == files) {
        CHECK(back.lines.back() == to_json(end));
        back.lines.pop_back();
      }
      CHECK_FALSE(back.lines.empty());
      for (const std::string& line : back.lines) CHECK(line == to_json(events[next++]));
    }
    CHECK(next == events.size());
  }
}

TEST_CASE("a sink that gets no further file stops, and says why") {
  for (const bool json : {false, true}) {
    const TempFile file;
    const auto fail = [] {
      errno = EACCES;
      return -1;
    };
    const auto sink = make(json, file.path(), {.max_bytes = kBound, .next_file = fail});
    sink->write(losses(20'000));
    sink->flush();
    CHECK(file.bytes().size() <= kBound);
    REQUIRE(sink->problem().has_value());
    CHECK(sink->problem()->error_number == EACCES);
    CHECK_FALSE(read(json, file.path()).lines.empty());
  }
}
