// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/error.hpp>
#include <tracer/recording.hpp>
#include <tracer/sink.hpp>

#include "sample_events.hpp"
#include "temp_file.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

/// A small recording of one frame an event.
struct Recording {
  std::vector<std::byte> bytes;
  std::vector<std::size_t> frame_ends;  ///< Of the header, then of each event's frame.
  std::vector<std::string> events;
};

Recording small_recording() {
  Recording recording;
  const TempFile file;
  const auto sink = recording_sink(file.path(), HostInfo{});
  sink->flush();
  recording.frame_ends.push_back(file.bytes().size());
  const Event events[] = {sample_events::loss(1, "a", 2), sample_events::bare<ProcessStart>(),
                          sample_events::loss(3, "b", 4), SessionEnd{}};
  for (const Event& event : events) {
    sink->write({&event, 1});
    sink->flush();
    recording.frame_ends.push_back(file.bytes().size());
    recording.events.push_back(to_json(event));
  }
  recording.bytes = file.bytes();
  return recording;
}

struct Result {
  std::optional<ErrorCode> error;
  std::vector<std::string> events;
  RecordingDamage damage;
};

Result read(const TempFile& file) {
  Result result;
  std::optional<RecordingReader> reader;
  try {
    reader.emplace(file.path());
  } catch (const Error& error) {
    result.error = error.code();
    return result;
  }
  while (const auto event = reader->next()) result.events.push_back(to_json(*event));
  result.damage = reader->damage();
  return result;
}

}  // namespace

TEST_CASE("a recording cut at any byte gives back all whole frames before it" * doctest::test_suite("one_thread")) {
  const Recording recording = small_recording();
  const TempFile file;
  file.write(recording.bytes);
  for (std::size_t size = recording.bytes.size() + 1; size-- > 0;) {
    file.cut(size);
    const Result result = read(file);
    CAPTURE(size);
    if (size < recording.frame_ends.front()) {
      CHECK(result.error == (size < 8 ? ErrorCode::kNotARecording : ErrorCode::kCorruptRecording));
      continue;
    }
    REQUIRE_FALSE(result.error.has_value());
    std::size_t whole = 0;
    while (whole + 1 < recording.frame_ends.size() && recording.frame_ends[whole + 1] <= size) ++whole;
    CHECK(result.events ==
          std::vector(recording.events.begin(), recording.events.begin() + static_cast<std::ptrdiff_t>(whole)));
    CHECK(result.damage.truncated == (whole < recording.events.size()));
    CHECK(result.damage.skipped_bytes == size - recording.frame_ends[whole]);
    CHECK(result.damage.skipped_events == 0);
  }
}

TEST_CASE("a recording with any one byte changed loses that frame and no other" * doctest::test_suite("one_thread")) {
  const Recording recording = small_recording();
  const TempFile file;
  file.write(recording.bytes);
  for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
    for (std::size_t at = 0; at < recording.bytes.size(); ++at) {
      file.write_byte(at, recording.bytes[at] ^ static_cast<std::byte>(flip));
      const Result result = read(file);
      file.write_byte(at, recording.bytes[at]);
      CAPTURE(at);
      if (at < recording.frame_ends.front()) {
        CHECK(result.error == (at < 8 ? ErrorCode::kNotARecording : ErrorCode::kCorruptRecording));
        continue;
      }
      REQUIRE_FALSE(result.error.has_value());
      std::size_t hit = 0;
      while (recording.frame_ends[hit + 1] <= at) ++hit;
      std::vector<std::string> others = recording.events;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(hit));
      CHECK(result.events == others);
      CHECK(result.damage.skipped_bytes == recording.frame_ends[hit + 1] - recording.frame_ends[hit]);
      CHECK(result.damage.missing_frames == (hit + 1 == recording.events.size() ? 0 : 1));
      CHECK(result.damage.truncated == (hit + 1 == recording.events.size()));
    }
  }
  CHECK(file.bytes() == recording.bytes);
}

TEST_CASE("bytes that were pushed in between frames are passed over and counted") {
  const Recording recording = small_recording();
  const TempFile file;
  const std::string junk = "TRF2 junk TRF2\xff\xff\xff";
  for (const std::size_t at : recording.frame_ends) {
    std::vector<std::byte> bytes = recording.bytes;
    const auto more = std::as_bytes(std::span(junk));
    bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
    file.write(bytes);
    const Result result = read(file);
    CAPTURE(at);
    CHECK(result.events == recording.events);
    CHECK(result.damage.skipped_bytes == junk.size());
    CHECK_FALSE(result.damage.truncated);
  }
}

TEST_CASE("frames that come twice or in another order are read as they come") {
  const Recording recording = small_recording();
  std::vector<std::byte> bytes = recording.bytes;
  bytes.insert(bytes.end(), recording.bytes.begin() + static_cast<std::ptrdiff_t>(recording.frame_ends[0]),
               recording.bytes.begin() + static_cast<std::ptrdiff_t>(recording.frame_ends[1]));
  const TempFile file;
  file.write(bytes);
  const Result result = read(file);
  REQUIRE(result.events.size() == 5);
  CHECK(result.events.back() == recording.events.front());
  CHECK(result.damage.skipped_bytes == 0);
}

TEST_CASE("false beginnings are not all checked, and frames behind them are found" *
          doctest::test_suite("one_thread")) {
  Recording recording = small_recording();
  const std::vector<std::byte> frames(
      recording.bytes.begin() + static_cast<std::ptrdiff_t>(recording.frame_ends.front()), recording.bytes.end());
  recording.bytes.resize(recording.frame_ends.front());
  // Each promises a megabyte that would have to be checked: terabytes in all.
  const std::string_view beginning("TRF2\x00\x00\x10\x00\x00\x00\x10\x00----", 16);
  for (std::size_t i = 0; i < (4u << 20); ++i)
    recording.bytes.push_back(static_cast<std::byte>(beginning[i % beginning.size()]));
  recording.bytes.resize(recording.bytes.size() + (128u << 10));
  recording.bytes.insert(recording.bytes.end(), frames.begin(), frames.end());
  const TempFile file;
  file.write(recording.bytes);
  const Result result = read(file);
  REQUIRE_FALSE(result.error.has_value());
  CHECK(result.events == recording.events);
  CHECK(result.damage.skipped_bytes == (4u << 20) + (128u << 10));
}
