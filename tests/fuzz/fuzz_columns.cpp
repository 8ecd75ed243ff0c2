// SPDX-License-Identifier: Apache-2.0
/// Reads payloads of frames that nobody wrote, without the checksum and the compression in front of them.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tracer/event.hpp>

#include "arrow_check.hpp"
#include "stream/event_rows.hpp"
#include "stream/stream_writer.hpp"
#include "table/batch.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

/// Every column has what its section promises.
void check(const Section& section) {
  for (const Column& column : section.columns) {
    if (!column.stored) continue;
    std::uint64_t sum = 0;
    for (const std::uint64_t value : column.values) sum += value;
    for (const std::uint64_t item : column.items) sum += item;
    if (sum == 0x1234'5678'9abc'def0) __builtin_trap();
  }
}

/// Tables take what events are not made of.
void make_tables(const ColumnFrame& frame) {
  for (int i = 0; i < 8; ++i) {
    const TableLayout& layout = layout_of(static_cast<Table>(i));
    Batch batch(layout, frame.rows() / 2 + 1);
    batch.open(frame, 0, layout.sources.size());
    std::vector<OwnedArray> arrays;
    while (batch.take_rows()) arrays.push_back(batch.finish());
    arrays.push_back(batch.finish());
    OwnedSchema schema = schema_of(layout);
    for (OwnedArray& array : arrays) arrow_check::check(*schema, *array);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static ColumnFrame frame;
  static StreamWriter writer{HostInfo{}};
  if (!frame.decode(std::as_bytes(std::span(data, size)))) return 0;
  for (std::size_t place = 0; place < kKinds; ++place) check(frame.kind(place));
  // Rows that cost no bytes would make this a fuzzer of JSON.
  if (frame.rows() > 2000) return 0;
  make_tables(frame);
  EventRows rows;
  rows.open(frame);
  std::size_t events = 0;
  for (Event event = rows.next(); event.kind() != EventKind::kNone; event = rows.next()) {
    writer.append(event);
    if (++events % 64 == 1) static_cast<void>(to_json(event));
  }
  if (events + frame.unknown_rows() != frame.rows()) __builtin_trap();
  writer.close_frame();
  writer.clear_ready();
  return 0;
}
