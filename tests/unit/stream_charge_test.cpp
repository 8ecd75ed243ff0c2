// SPDX-License-Identifier: Apache-2.0
/// Frames in which few bytes stand for very much.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/recording.hpp>
#include <tracer/sink.hpp>

#include "builders.hpp"
#include "stream/column_layout.hpp"
#include "stream/event_rows.hpp"
#include "stream/frame_encoder.hpp"
#include "stream/stream_writer.hpp"
#include "temp_file.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

/// Of about a hundred KiB, shared by all.
std::shared_ptr<const Process> large_process() {
  return build::process({.argv = std::vector<std::string>(100, std::string(1000, 'x'))});
}

}  // namespace

TEST_CASE("a writer closes a frame before its events take more than a reader makes of one") {
  const TempFile file;
  const auto process = large_process();
  constexpr std::size_t kEvents = 2000;  // 200 MiB as they are charged.
  {
    const auto sink = recording_sink(file.path(), HostInfo{});
    for (std::size_t i = 0; i < kEvents; ++i) {
      const Event event = ProcessStart{i, process, {}};
      sink->write({&event, 1});
    }
    sink->flush();
  }
  RecordingReader reader(file.path());
  std::size_t count = 0;
  while (reader.next()) ++count;
  CHECK(count == kEvents);
  CHECK(reader.damage().skipped_events == 0);
}

TEST_CASE("of a frame that refers to a large part very often no more is made than a frame may hold") {
  FrameEncoder encoder;
  const auto process = large_process();
  constexpr std::size_t kEvents = 5000;
  for (std::size_t i = 0; i < kEvents; ++i) encoder.append(ProcessStart{i, process, {}});
  std::vector<std::byte> payload;
  encoder.close(payload, ClockUpdate::now());
  CHECK(payload.size() < 256u << 10);
  ColumnFrame frame;
  REQUIRE(frame.decode(payload));
  EventRows rows;
  rows.open(frame);
  std::size_t charged_bytes = 0;
  std::size_t count = 0;
  for (Event event = rows.next(); event.kind() != EventKind::kNone; event = rows.next(), ++count)
    charged_bytes += event.charge_bytes();
  CHECK(charged_bytes <= kMaxChargeBytes);
  CHECK(rows.refused() == kEvents - count);
  CHECK(count > 0);
}

namespace {

/// A frame of `rows` ends of processes about which nothing is known, as few bytes as can be.
std::vector<std::byte> bomb_of(std::uint64_t rows) {
  std::vector<std::byte> payload(16 + 2);
  put_varint(payload, 1);
  put_varint(payload, static_cast<std::uint64_t>(EventKind::kProcessExit));
  put_varint(payload, rows);
  put_varint(payload, 0);
  return payload;
}

/// Of a recording whose only frame of events has this payload.
std::pair<std::size_t, RecordingDamage> read_back(const std::vector<std::byte>& payload) {
  const TempFile file;
  const StreamWriter writer((HostInfo()));
  std::vector<std::byte> bytes(writer.ready().begin(), writer.ready().end());
  FrameWriter frames(load<std::uint64_t>(bytes.data() + kRecordingMagic.size() + 16));
  std::vector<std::byte> header;
  frames.append(header, {});
  frames.append(bytes, payload);
  file.write(bytes);
  RecordingReader reader(file.path());
  std::size_t count = 0;
  while (reader.next()) ++count;
  return {count, reader.damage()};
}

}  // namespace

TEST_CASE("a frame of fewer bytes than it has events is refused") {
  const auto [few, good] = read_back(bomb_of(5));
  CHECK(few == 5);
  CHECK(good.skipped_bytes == 0);
  for (const std::uint64_t rows : {std::uint64_t{200}, std::uint64_t{kMaxRows}}) {
    const auto [count, damage] = read_back(bomb_of(rows));
    CHECK(count == 0);
    CHECK(damage.skipped_bytes > 0);
  }
}

TEST_CASE("events that are all the same, or empty, come back from a recording") {
  const TempFile file;
  constexpr std::size_t kEvents = 40'000;
  const std::string text(3000, 'x');
  const Event same[] = {Event(Loss{}), Event(ProcessExit{}), Event(build::exit(1)),
                        Event(ProcessStart{1, build::process({.argv = std::vector<std::string>{text, text}}), {}})};
  for (const Event& event : same) {
    {
      const auto sink = recording_sink(file.path(), HostInfo{});
      for (std::size_t i = 0; i < kEvents; ++i) sink->write({&event, 1});
    }
    RecordingReader reader(file.path());
    std::size_t count = 0;
    while (reader.next()) ++count;
    CHECK(count == kEvents);
    CHECK(reader.damage().skipped_bytes == 0);
    CHECK(reader.damage().skipped_events == 0);
  }
}
