// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <tracer/event.hpp>

#include "stream/column_frame.hpp"
#include "stream/frame_encoder.hpp"

namespace tracer::internal {

/// Events as a frame, without a recording: so that tables have one way to read them.
class EventFrames {
 public:
  bool empty() const noexcept { return encoder_.empty(); }
  /// False: call close() first.
  bool has_room(const Event& event) const noexcept;
  /// An event that is too large for a recording is replaced as it is there.
  void add(const Event& event);
  /// The frame of all that was added; valid until the next call of anything. `clock`: of the events.
  const ColumnFrame& close(const ClockUpdate& clock);

 private:
  FrameEncoder encoder_;
  std::size_t charged_bytes_ = 0;
  Bytes payload_;
  ColumnFrame frame_;
};

}  // namespace tracer::internal
