// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/host.hpp>

#include "stream/frame.hpp"
#include "stream/stream_writer.hpp"

namespace tracer::internal {

/// Events as any client's stream may have them, encoded once.
struct EventFrame {
  SharedBytes bytes;
  std::uint64_t first = 0;  ///< The number of its first event; with all kinds, the others follow it.
  std::uint64_t events = 0;
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;
  std::map<EventKind, std::uint64_t> by_kind = {};

  /// What a slow client is charged for it while it waits.
  std::size_t charge_bytes() const noexcept { return kFrameHeaderBytes + bytes.stored.size() + 256; }
};
using SharedFrame = std::shared_ptr<const EventFrame>;

/// Makes frames of events.
class FrameMaker {
 public:
  explicit FrameMaker(const HostInfo& host) : writer_(host) { writer_.clear_ready(); }

  /// A frame that is full goes to `done` first.
  void append(const Event& event, std::uint64_t number, std::vector<SharedFrame>& done);
  void close(std::vector<SharedFrame>& done);
  bool empty() const noexcept { return !writer_.has_open_frame(); }

 private:
  void take_ready(std::vector<SharedFrame>& done);

  StreamWriter writer_;
  EventFrame open_;
};

/// The magic number and header of a stream.
Bytes stream_head(const HostInfo& host, std::uint64_t stream);

/// Those of the events in a frame that are not before `first`.
std::vector<Event> events_from(const EventFrame& frame, std::uint64_t first);

}  // namespace tracer::internal
