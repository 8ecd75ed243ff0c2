// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <tracer/event.hpp>
#include <tracer/host.hpp>
#include <tracer/sink.hpp>

#include "stream/frame.hpp"
#include "stream/frame_encoder.hpp"

namespace tracer::internal {

/// Turns events into a stream. Frames that are done wait in ready(), first the magic number and the header.
class StreamWriter {
 public:
  /// `behind`: of a recording, where it stands. Absent: a stream that is no file. `owner_uid`: see StreamHeader.
  explicit StreamWriter(const HostInfo& host, int level = kStreamLevel, std::optional<RecordingPlace> behind = {},
                        std::optional<std::uint32_t> owner_uid = {});

  /// An event that is too large for any frame is replaced by a Loss with the cause "event_too_large".
  void append(const Event& event);
  /// Of a copy: that of the events that come. Without it, frames have the clock of now.
  void set_clock(const ClockUpdate& clock);
  /// Closes the open frame, if there are events in it.
  void close_frame();
  /// Appends what a file ends with on purpose: a frame without events.
  void append_end(Bytes& out);

  std::span<const std::byte> ready() const noexcept { return ready_; }
  void clear_ready() noexcept;
  bool has_open_frame() const noexcept { return !encoder_.empty(); }
  std::optional<RecordingPlace> place() const noexcept { return place_; }
  /// Of the frame in ready().
  std::size_t ready_events() const noexcept { return ready_events_; }

  /// Where ready() is one frame of events: moves it to a new stream, behind its magic number and header. `end` gets
  /// what the old stream ends with.
  void begin_anew(const HostInfo& host, Bytes& end);
  /// Drops that frame and what is behind it, and returns how many events that are. The stream may go on.
  std::size_t drop();

 private:
  void begin(const HostInfo& host);
  ClockUpdate clock() const noexcept { return clock_ ? *clock_ : ClockUpdate::now(); }
  void count_frames(std::int64_t more) noexcept {
    if (place_) place_->frames = static_cast<std::uint64_t>(static_cast<std::int64_t>(place_->frames) + more);
  }

  int level_;
  std::optional<std::uint32_t> owner_uid_;
  FrameWriter frames_;
  std::uint64_t part_ = 0;
  std::optional<RecordingPlace> place_;  ///< With the frames in ready().
  std::size_t charged_bytes_ = 0;        ///< Of the events in the open frame.
  std::optional<ClockUpdate> clock_;
  FrameEncoder encoder_;
  Bytes payload_;
  std::size_t least_bytes_ = 0;  ///< In which that payload is stored.
  Bytes ready_;
  std::size_t ready_events_ = 0;
};

}  // namespace tracer::internal
