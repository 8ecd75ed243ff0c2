// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace tracer::internal {

/// When the next snapshot is due. What one costs depends on how many processes live: after a dear one the next waits
/// longer.
class SnapshotClock {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kLeastRestPerCost = 60;

  explicit SnapshotClock(Clock::duration interval) : interval_(interval) {}

  void start(Clock::time_point now) { next_ = now + interval_; }
  /// The reader comes by at a period of its own: a little early is better than a whole period late.
  bool due(Clock::time_point now) const { return now >= rest_until_ && now + interval_ / 5 >= next_; }
  void took(Clock::time_point begin, Clock::time_point end) {
    next_ += interval_;
    // Those that were missed are not made up for.
    if (next_ < begin + interval_ / 2) next_ = begin + interval_;
    rest_until_ = end + kLeastRestPerCost * (end - begin);
  }

 private:
  Clock::duration interval_;
  Clock::time_point next_{};
  Clock::time_point rest_until_{};
};

}  // namespace tracer::internal
