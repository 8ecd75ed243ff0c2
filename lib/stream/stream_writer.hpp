// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <tracer/event.hpp>
#include <tracer/host.hpp>

#include "stream/frame.hpp"
#include "stream/frame_encoder.hpp"

namespace tracer::internal {

/// Turns events into a stream. Frames that are done wait in ready(), first the magic number and the header.
class StreamWriter {
 public:
  explicit StreamWriter(const HostInfo& host);

  /// An event that is too large for any frame is replaced by a Loss with the cause "event_too_large".
  void append(const Event& event);
  /// Closes the open frame, if there are events in it.
  void close_frame();

  std::span<const std::byte> ready() const noexcept { return ready_; }
  void clear_ready() noexcept { ready_.clear(); }

 private:
  FrameWriter frames_;
  std::size_t charged_bytes_ = 0;  ///< Of the events in the open frame.
  FrameEncoder encoder_;
  Bytes payload_;
  Bytes ready_;
};

}  // namespace tracer::internal
