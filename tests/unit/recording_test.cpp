// SPDX-License-Identifier: Apache-2.0
#include <tracer/recording.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/error.hpp>
#include <tracer/sink.hpp>

#include "in_repository.hpp"
#include "sample_events.hpp"
#include "stream_bytes.hpp"
#include "temp_file.hpp"

using namespace tracer;

namespace {

HostInfo host() {
  HostInfo host;
  host.boot_id = "b";
  host.host_name = "h\xff";
  host.cpu_count = 4;
  host.memory_bytes = 1ull << 40;
  host.wall_offset_ns = 0xffffffffffffffff;
  return host;
}

std::vector<std::string> jsons(const std::vector<Event>& events) {
  std::vector<std::string> texts;
  for (const Event& event : events) texts.push_back(to_json(event));
  return texts;
}

std::vector<Event> read_all(RecordingReader& reader) {
  std::vector<Event> events;
  while (auto event = reader.next()) events.push_back(std::move(*event));
  return events;
}

void record(const TempFile& file, const std::vector<Event>& events) {
  recording_sink(file.path(), host())->write(events);
}

ErrorCode code_of(const std::filesystem::path& file, int* error_number = nullptr) {
  try {
    RecordingReader reader(file);
  } catch (const Error& error) {
    if (error_number != nullptr) *error_number = error.error_number();
    CHECK(std::string(error.what()).find(file.string()) != std::string::npos);
    return error.code();
  }
  return ErrorCode::kInternal;
}

/// Of the table in docs/recording-format.md.
std::map<std::string, unsigned> documented_kinds() {
  std::ifstream file(internal::in_repository("docs/recording-format.md"));
  std::map<std::string, unsigned> kinds;
  std::string line;
  while (std::getline(file, line) && line != "| kind | number |") continue;
  std::getline(file, line);
  while (std::getline(file, line) && !line.empty()) {
    char name[32] = {};
    unsigned number = 0;
    CAPTURE(line);
    REQUIRE(std::sscanf(line.c_str(), "| `%31[a-z_]` | %u |", name, &number) == 2);
    kinds.emplace(name, number);
  }
  return kinds;
}

}  // namespace

TEST_CASE("events come back as they were written, in their order") {
  const TempFile file;
  record(file, sample_events::all());
  RecordingReader reader(file.path());
  CHECK(reader.host() == host());
  const auto back = read_all(reader);
  CHECK(jsons(back) == jsons(sample_events::all()));
  CHECK_FALSE(reader.damage().any());
  for (const Event& event : back)
    if (const auto* exit = event.get_if<ProcessExit>()) CHECK(exit->start_ns == exit->process->start_ns);
}

TEST_CASE("what JSON does not show comes back, too") {
  const TempFile file;
  record(file, {sample_events::full<ProcessExit>(), SessionEnd{}});
  RecordingReader reader(file.path());
  const auto back = reader.next();
  REQUIRE(back.has_value());
  const ProcessExit expected = sample_events::full<ProcessExit>();
  const auto& exit = *back->get_if<ProcessExit>();
  CHECK(exit.program.program->argv == expected.program.program->argv);
  CHECK(exit.program.program->comm == expected.program.program->comm);
  CHECK(exit.program.program->cwd == expected.program.program->cwd);
}

TEST_CASE("a session's end comes back as it was reported, with families missing, none, or nobody knows") {
  using Families = std::optional<std::vector<std::string>>;
  for (const Families& missing : {Families(), Families(std::in_place), Families({"waits", "snapshots"})}) {
    SessionEnd end = sample_events::full<SessionEnd>();
    end.missing_families = missing;
    if (missing && missing->empty()) end.cost_kernel_ns.reset();
    const TempFile file;
    record(file, {end});
    RecordingReader reader(file.path());
    const auto back = read_all(reader);
    REQUIRE(back.size() == 1);
    CHECK(back[0].get_if<SessionEnd>()->missing_families == missing);
    CHECK(to_json(back[0]) == to_json(end));
    CHECK_FALSE(reader.damage().any());
  }
}

TEST_CASE("a recording of many frames comes back in order") {
  const TempFile file;
  constexpr std::uint64_t kMany = 40'000;
  {
    const auto sink = recording_sink(file.path(), host());
    for (std::uint64_t i = 0; i < kMany; ++i) {
      const Event event = sample_events::loss(i, std::to_string(i * 2654435761u) + std::string(20, 'x'), i);
      sink->write({&event, 1});
    }
    const Event end = SessionEnd{};
    sink->write({&end, 1});
  }
  RecordingReader reader(file.path());
  std::uint64_t next = 0;
  std::array<Event, 1000> events;
  while (const std::size_t count = reader.read(events)) {
    for (const Event& event : std::span(events).first(count)) {
      if (const auto* loss = event.get_if<Loss>()) {
        REQUIRE(loss->count == next);
        ++next;
      }
    }
  }
  CHECK(next == kMany);
  CHECK_FALSE(reader.damage().any());
  CHECK(reader.read(events) == 0);
}

TEST_CASE("what is read at once is bounded by its size in memory, and nothing is left out for it") {
  constexpr std::size_t kEvents = 4000;
  constexpr std::size_t kMostBytes = 32u << 20;
  const TempFile file;
  {
    const auto sink = recording_sink(file.path(), host());
    const std::vector<Event> events(kEvents, sample_events::loss(1, std::string(50'000, 'x'), 1));
    sink->write(events);
  }
  CHECK(std::filesystem::file_size(file.path()) < (1u << 20));
  RecordingReader reader(file.path());
  std::vector<Event> events(kEvents);
  std::size_t sum = 0;
  std::size_t reads = 0;
  while (const std::size_t count = reader.read(events)) {
    std::size_t bytes = 0;
    for (const Event& event : std::span(events).first(count)) bytes += event.charge_bytes();
    CHECK(bytes < kMostBytes + (1u << 20));
    sum += count;
    ++reads;
  }
  CHECK(sum == kEvents);
  CHECK(reads > kEvents * 50'000 / (kMostBytes + (1u << 20)));
  CHECK(reader.read({}) == 0);
}

TEST_CASE("a recording goes to a file descriptor that was handed over") {
  const TempFile file;
  const int fd = ::open(file.path().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const Event end = SessionEnd{};
  recording_sink(fd, "a name", host())->write({&end, 1});
  CHECK(::fcntl(fd, F_GETFD) == -1);
  RecordingReader reader(file.path());
  CHECK(read_all(reader).size() == 1);
}

TEST_CASE("a recording is read from a pipe while it is written") {
  for (const int flags : {0, O_NONBLOCK}) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC | flags) == 0);
    std::thread writer([&] {
      const auto sink = recording_sink(ends[1], "a pipe", host());
      for (int i = 0; i < 300; ++i) sink->write(sample_events::all());
    });
    RecordingReader reader(ends[0], "standard input");
    std::size_t count = 0;
    while (reader.next()) ++count;
    writer.join();
    CHECK(count == 300 * sample_events::all().size());
    CHECK_FALSE(reader.damage().any());
    CHECK(::fcntl(ends[0], F_GETFD) != -1);
  }
}

TEST_CASE("a recording without its end says so, an empty one too") {
  const TempFile file;
  record(file, {});
  RecordingReader empty(file.path());
  CHECK(read_all(empty).empty());
  CHECK(empty.damage().truncated);
  record(file, {Loss{}});
  RecordingReader reader(file.path());
  CHECK(read_all(reader).size() == 1);
  CHECK(reader.damage().truncated);
  CHECK(reader.damage().skipped_bytes == 0);
}

TEST_CASE("a reader can be moved while it reads") {
  const TempFile file;
  record(file, sample_events::all());
  RecordingReader first(file.path());
  CHECK(first.next().has_value());
  RecordingReader second = std::move(first);
  CHECK(read_all(second).size() == sample_events::all().size() - 1);
}

TEST_CASE("files that are no readable recording each have their code") {
  const TempFile file;
  int error_number = 0;
  CHECK(code_of(file.folder() / "missing", &error_number) == ErrorCode::kFileUnreadable);
  CHECK(error_number == ENOENT);
  CHECK(code_of(file.folder(), &error_number) == ErrorCode::kFileUnreadable);
  CHECK(error_number == EISDIR);
  file.write({});
  CHECK(code_of(file.path()) == ErrorCode::kNotARecording);
  file.write(stream_bytes::bytes_of("#!/bin/sh and more"));
  CHECK(code_of(file.path()) == ErrorCode::kNotARecording);
  file.write(stream_bytes::bytes_of(internal::kRecordingMagic));
  CHECK(code_of(file.path()) == ErrorCode::kCorruptRecording);
  file.write(stream_bytes::bytes_of(std::string(internal::kRecordingMagic) + "TRFM" + std::string(100, '\0')));
  CHECK(code_of(file.path()) == ErrorCode::kOlderSchema);
  file.write(stream_bytes::Stream({.schema = internal::kStreamSchema + 1, .host = {}}).bytes());
  CHECK(code_of(file.path()) == ErrorCode::kNewerSchema);
}

TEST_CASE("events of kinds that are not known are counted") {
  stream_bytes::Stream stream;
  stream.add(internal::Bytes(stream_bytes::Payload{.kinds = {{777, 3, {}}}}));
  const TempFile file;
  file.write(stream.bytes());
  RecordingReader reader(file.path());
  CHECK(read_all(reader).empty());
  CHECK(reader.damage().skipped_events == 3);
}

TEST_CASE("the documented table of kinds is that of the code") {
  std::map<std::string, unsigned> kinds;
  for (unsigned number = 0; number <= 0xffff; ++number) {
    const std::string_view name = to_string(static_cast<EventKind>(number));
    if (!name.empty()) kinds.emplace(name, number);
  }
  CHECK(kinds.size() == internal::kKinds);
  CHECK(documented_kinds() == kinds);
}
