// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include <tracer/host.hpp>

#include "serve/charges.hpp"
#include "serve/event_frame.hpp"

namespace tracer::internal {

/// The frames that wait for one client, in its own stream. When they are too many, the oldest ones are dropped, and a
/// Loss with the cause "queue_full" takes their place; for those that say what lives, and have no numbers, one with the
/// cause "living_dropped".
class Outbox {
 public:
  using Clock = std::chrono::steady_clock;

  Outbox(const HostInfo& host, Charges& charges, uid_t uid, std::size_t capacity_bytes);

  void push(SharedFrame frame);
  enum class Written { kAll, kSome, kFailed };
  /// Writes what the socket takes now.
  Written write(int socket, Clock::time_point now);
  bool empty() const noexcept { return head_.empty() && frames_.empty() && !has_gap(); }
  /// It lost something that it has not been told yet, and has read nothing since then.
  bool stalled(Clock::time_point now, Clock::duration limit) const noexcept {
    return has_gap() && now - progress_ > limit;
  }
  std::uint64_t dropped() const noexcept { return dropped_; }
  /// Whose it is.
  uid_t uid() const noexcept { return uid_; }
  std::size_t held_bytes() const noexcept { return charge_.bytes(); }

 private:
  /// What was dropped in front of frames_.
  struct Gap {
    std::map<EventKind, std::uint64_t> by_kind = {};
    std::uint64_t first_ns = 0;
    std::uint64_t last_ns = 0;
  };

  void drop_oldest();
  void note_dropped(const EventFrame& frame);
  void fill_gap();
  bool has_gap() const noexcept { return !gap_.by_kind.empty() || !living_gap_.by_kind.empty(); }
  /// The first frame is on its way, and can't be dropped.
  bool began() const noexcept { return began_; }

  const HostInfo& host_;
  Charges& charges_;
  const uid_t uid_;
  const std::size_t capacity_bytes_;
  const std::uint64_t stream_;
  ByteCharge charge_;
  Bytes head_;
  std::size_t head_at_ = 0;
  std::deque<SharedFrame> frames_;
  std::array<std::byte, kFrameHeaderBytes> header_{};  ///< Of the first of them, once it has begun.
  std::size_t at_ = 0;                                 ///< How much of the first one is written.
  bool began_ = false;
  std::uint64_t sequence_ = 1;
  Gap living_gap_;  ///< Of what says what lives, which comes before all else.
  Gap gap_;
  std::uint64_t dropped_ = 0;
  Clock::time_point progress_ = Clock::now();
};

}  // namespace tracer::internal
