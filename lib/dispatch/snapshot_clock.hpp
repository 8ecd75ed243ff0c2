// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace tracer::internal {

/// When the next snapshot is due. What one costs depends on how many processes live: after a dear one the next waits
/// longer.
class SnapshotClock {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kLeastRestPerCost = 50;

  explicit SnapshotClock(Clock::duration interval) : interval_(interval) {}

  void start(Clock::time_point now) { next_ = now + interval_; }
  /// The reader comes by at a period of its own: a little early is better than a whole period late.
  bool due(Clock::time_point now) const { return now + interval_ / 5 >= next_; }
  void took(Clock::time_point begin, Clock::time_point end) {
    next_ = std::max(next_ + interval_, begin + kLeastRestPerCost * (end - begin));
    if (next_ < begin) next_ = begin + interval_;
  }

 private:
  Clock::duration interval_;
  Clock::time_point next_{};
};

}  // namespace tracer::internal
