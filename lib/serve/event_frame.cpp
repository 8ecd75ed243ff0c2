// SPDX-License-Identifier: Apache-2.0
#include "serve/event_frame.hpp"

#include <utility>

#include "stream/column_frame.hpp"
#include "stream/event_rows.hpp"
#include "stream/stream_header.hpp"

namespace tracer::internal {

void FrameMaker::take_ready(std::vector<SharedFrame>& done) {
  if (writer_.ready_events() == 0) return;
  EventFrame frame = std::exchange(open_, {});
  frame.bytes = shared_bytes(writer_.ready());
  writer_.clear_ready();
  done.push_back(std::make_shared<const EventFrame>(std::move(frame)));
}

void FrameMaker::append(const Event& event, std::uint64_t number, std::vector<SharedFrame>& done) {
  const Event fitting =
      event.charge_bytes() > FrameEncoder::kMaxEventBytes ? FrameEncoder::fitting(event) : Event(event);
  writer_.append(fitting);
  // It had no room in the open frame, and is in the next one.
  take_ready(done);
  if (open_.events++ == 0) {
    open_.first = number;
    open_.first_ns = fitting.time_ns();
  }
  open_.last_ns = fitting.time_ns();
  ++open_.by_kind[fitting.kind()];
}

void FrameMaker::close(std::vector<SharedFrame>& done) {
  writer_.close_frame();
  take_ready(done);
}

Bytes stream_head(const HostInfo& host, std::uint64_t stream) {
  Bytes head;
  Bytes header;
  put_header(header, {.schema = kStreamSchema, .part = 1, .host = host});
  put_bytes(head, std::as_bytes(std::span(kRecordingMagic)));
  FrameWriter(stream).append(head, header);
  return head;
}

std::vector<Event> events_from(const EventFrame& frame, std::uint64_t first) {
  FrameFinder finder;
  finder.feed(frame_header(frame.bytes, 0, 0));
  finder.feed(frame.bytes.stored);
  std::vector<Event> events;
  const auto found = finder.next();
  ColumnFrame columns;
  if (!found || !columns.decode(found->payload)) return events;
  EventRows rows;
  rows.open(columns);
  std::uint64_t number = frame.first;
  for (Event event = rows.next(); event.kind() != EventKind::kNone; event = rows.next(), ++number)
    if (number >= first) events.push_back(std::move(event));
  return events;
}

}  // namespace tracer::internal
