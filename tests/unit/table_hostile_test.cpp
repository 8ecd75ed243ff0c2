// SPDX-License-Identifier: Apache-2.0
/// Tables of frames that no writer makes.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "arrow_check.hpp"
#include "builders.hpp"
#include "sample_events.hpp"
#include "stream/event_rows.hpp"
#include "stream/frame_encoder.hpp"
#include "table/batch.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

std::vector<std::byte> payload_of(const std::vector<Event>& events) {
  FrameEncoder encoder;
  for (const Event& event : events) encoder.append(event);
  std::vector<std::byte> payload;
  encoder.close(payload, {});
  return payload;
}

/// Checked, in two batches or more.
std::vector<arrow_check::Row> rows_of(const ColumnFrame& frame, Table table) {
  const TableLayout& layout = layout_of(table);
  OwnedSchema schema = schema_of(layout);
  Batch batch(layout, frame.rows() / 2 + 1);
  batch.open(frame, 0, layout.sources.size());
  std::vector<arrow_check::Row> rows;
  for (bool more = true; more;) {
    more = batch.take_rows();
    OwnedArray array = batch.finish();
    for (auto& row : arrow_check::rows_of(*schema, *array)) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

TEST_CASE("of a frame that refers to a large part very often a table takes no more than a frame may hold") {
  constexpr std::size_t kEvents = 5000;
  const auto process = build::process({.argv = std::vector<std::string>(100, std::string(1000, 'x'))});
  std::vector<Event> events;
  for (std::size_t i = 0; i < kEvents; ++i) {
    ProcessExit exit;
    exit.process = process;
    exit.time_ns = i;
    events.emplace_back(exit);
  }
  const auto payload = payload_of(events);
  CHECK(payload.size() < 256u << 10);
  ColumnFrame frame;
  REQUIRE(frame.decode(payload));
  Batch batch(layout_of(Table::kProcesses), kEvents);
  const std::size_t refused = batch.open(frame, 0, 1);
  CHECK_FALSE(batch.take_rows());
  CHECK(batch.rows() + refused == kEvents);
  CHECK(batch.rows() > 100);
  CHECK(batch.text_bytes() <= kMaxChargeBytes);
  OwnedArray array = batch.finish();
  arrow_check::check(*schema_of(layout_of(Table::kProcesses)), *array);
}

TEST_CASE("whatever a frame holds, its tables are sound and have the values of its events") {
  const std::vector<std::byte> good = payload_of(sample_events::all());
  std::uint64_t random = 1;
  const auto next = [&random] { return (random = random * 6364136223846793005u + 1442695040888963407u) >> 33; };
  std::size_t decoded = 0;
  for (int round = 0; round < 600; ++round) {
    std::vector<std::byte> payload = good;
    for (std::uint64_t flips = next() % 3; flips != 0; --flips)
      payload[next() % payload.size()] = static_cast<std::byte>(next() & 0xff);
    ColumnFrame frame;
    if (!frame.decode(payload) || frame.rows() > 100) continue;
    ++decoded;
    for (int table = 0; table < 8; ++table)
      if (table != static_cast<int>(Table::kEvents) && round % 8 == 0) rows_of(frame, static_cast<Table>(table));
    const auto rows = rows_of(frame, Table::kEvents);
    EventRows events;
    events.open(frame);
    std::size_t at = 0;
    for (Event event = events.next(); event.kind() != EventKind::kNone; event = events.next(), ++at) {
      REQUIRE(at < rows.size());
      CHECK(rows[at].at("kind") == '"' + std::string(to_string(event.kind())) + '"');
      CHECK(rows[at].at("time_ns") == std::to_string(event.time_ns()));
      if (const auto* exit = event.get_if<ProcessExit>()) {
        CHECK(rows[at].at("pid") == std::to_string(exit->process->pid));
        CHECK(rows[at].at("exit_code") == (exit->exit_code ? std::to_string(*exit->exit_code) : "null"));
        CHECK(rows[at].at("core_dumped") == (exit->core_dumped ? "true" : "false"));
        CHECK((rows[at].at("argv") == "null") == !exit->process->program->argv);
        CHECK((rows[at].at("labels") == "null") == (*exit->process->context == Context{}));
      }
    }
    CHECK(at + events.refused() == rows.size());
  }
  CHECK(decoded > 50);
}
