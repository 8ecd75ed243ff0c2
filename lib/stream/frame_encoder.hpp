// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tracer/event.hpp>

#include "stream/column_builder.hpp"

namespace tracer::internal {

/// The clocks at one moment.
struct ClockUpdate {
  std::uint64_t boot_ns = 0;
  std::uint64_t wall_offset_ns = 0;  ///< As HostInfo::wall_offset_ns.

  static ClockUpdate now() noexcept;
};

/// Collects events, and makes the payload of a frame of them.
class FrameEncoder {
 public:
  /// An event that charges more than this has no place in a stream.
  static constexpr std::size_t kMaxEventBytes = 256u << 10;

  FrameEncoder();
  /// `event`, or in the place of one that is too large a Loss with the cause "event_too_large".
  static Event fitting(const Event& event);
  static Event too_large(const Event& event);

  bool empty() const noexcept { return order_.empty(); }
  std::size_t events() const noexcept { return order_.size(); }
  /// Events, rows of parts, texts, and at least the items of lists: what a reader makes room for.
  std::size_t things() const noexcept;
  /// In so many bytes, a reader takes the frame of events that charge so much, and somewhat more if it counts more.
  std::size_t least_stored_bytes(std::size_t charged_bytes) const noexcept;
  /// False: close it first.
  bool has_room() const noexcept;
  /// For an event of at most kMaxEventBytes, with room. An empty handle is passed over.
  void append(const Event& event);
  /// Appends the payload to `out` and begins anew.
  void close(Bytes& out, const ClockUpdate& clock);

 private:
  template <EventType E>
  void append_row(const E& event);
  /// What the columns take at most, if nothing in them repeats.
  std::size_t most_bytes() const noexcept;
  void clear() noexcept;

  FrameTables tables_;
  std::vector<SectionBuilder> kinds_;
  std::vector<std::uint8_t> order_;  ///< For each event, its kind's place.
  std::size_t cells_ = 0;
};

}  // namespace tracer::internal
