// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace tracer::internal {

/// When the next snapshot is due: at the latest after the interval. While memory moves, up to five times as often, so
/// that what is held for a short time is seen; less and less when nothing moves any more. What a snapshot costs depends
/// on how many processes live: after an expensive one the next waits longer. While the host rests, snapshots become
/// rarer than the interval says.
class SnapshotClock {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kLeastRestPerCost = 60;
  static constexpr int kLeastRestPerCpuOfEarly = 80;
  static constexpr int kEarlyPerInterval = 5;
  /// The reader comes by as often.
  static constexpr Clock::duration kLeastEarly = std::chrono::milliseconds(100);
  /// Between two at rest: so many intervals, but no longer than this, unless the interval is.
  static constexpr int kMostIntervalsOfRest = 5;
  static constexpr Clock::duration kLongestOfRest = std::chrono::seconds(5);

  explicit SnapshotClock(Clock::duration interval)
      : interval_(interval),
        early_(std::clamp(interval / kEarlyPerInterval, std::min(interval, kLeastEarly), interval)),
        longest_(std::max(interval, std::min(kMostIntervalsOfRest * interval, kLongestOfRest))) {}

  void start(Clock::time_point now) { next_ = now + interval_; }
  /// The reader comes by at a period of its own: a little early is better than a whole period late.
  bool due(Clock::time_point now) const {
    return (now >= rest_until_ && now + interval_ / 5 >= next_) ||
           (now >= early_rest_until_ && now + early_ / 5 >= next_early_);
  }
  /// `cpu`: what it cost, which is less than the time that it took where others want the CPU, too. `moved`: memory
  /// moved since the snapshot before. `at_rest`: nothing else did either.
  void took(Clock::time_point begin, Clock::time_point end, Clock::duration cpu, bool moved, bool at_rest = false) {
    // An early one does not put off the one that is due anyway.
    if (begin + interval_ / 5 >= next_) {
      next_ += interval_;
      // Those that were missed are not made up for.
      if (next_ < begin + interval_ / 2) next_ = begin + interval_;
    }
    rest_until_ = end + kLeastRestPerCost * (end - begin);
    early_rest_until_ = end + kLeastRestPerCpuOfEarly * cpu;
    pause_ = moved ? early_ : std::min(interval_, pause_ + pause_ / 2);
    next_early_ = pause_ == interval_ ? Clock::time_point::max() : begin + pause_;
    const bool longer = at_rest && !moved && pause_ == interval_;
    regular_ = longer ? std::min(longest_, regular_ + interval_) : interval_;
    if (rests()) next_ = begin + regular_;
  }
  /// Something has begun.
  void moves(Clock::time_point now) {
    wake(now);
    pause_ = early_;
    next_early_ = std::min(next_early_, now + early_);
  }
  /// The last pause was longer than the interval.
  bool rests() const noexcept { return regular_ > interval_; }
  /// Somebody wants to see what is, moving or not.
  void wake(Clock::time_point now) {
    if (!rests()) return;
    regular_ = interval_;
    next_ = std::min(next_, now + interval_);
  }

 private:
  Clock::duration interval_;
  Clock::duration early_;
  Clock::duration longest_;
  Clock::duration regular_ = interval_;  ///< Between two that are not early.
  Clock::duration pause_ = interval_;    ///< Until the next early one.
  Clock::time_point next_{};
  Clock::time_point next_early_ = Clock::time_point::max();
  Clock::time_point rest_until_{};
  Clock::time_point early_rest_until_{};
};

}  // namespace tracer::internal
