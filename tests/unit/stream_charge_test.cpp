// SPDX-License-Identifier: Apache-2.0
/// Frames in which few bytes stand for very much.
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
