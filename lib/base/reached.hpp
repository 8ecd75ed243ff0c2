// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

namespace tracer::internal {

/// When to give up; a negative timeout stands for never.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(std::chrono::milliseconds timeout)
      : time_(Clock::now() + (timeout.count() < 0 ? kLongest : std::min(timeout, kLongest))) {}
  Clock::time_point time() const noexcept { return time_; }
  bool passed() const noexcept { return Clock::now() >= time_; }
  /// So long from now, but not longer than this.
  Clock::time_point within(std::chrono::milliseconds most) const { return std::min(time_, Clock::now() + most); }

 private:
  static constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);
  Clock::time_point time_;
};

/// How long to wait for a fact that nobody may report: ever longer, but never so long that a caller can't be asked.
class Pause {
 public:
  std::chrono::milliseconds next() noexcept { return std::exchange(next_, std::min(2 * next_, kMost)); }

 private:
  static constexpr std::chrono::milliseconds kMost{50};
  std::chrono::milliseconds next_{1};
};

/// How far a stream has come, for those who wait for a place in it. Any thread.
class Reached {
 public:
  using Clock = Deadline::Clock;

  /// Never goes back.
  void reach(std::uint64_t position) {
    {
      const std::lock_guard lock(mutex_);
      if (position <= position_) return;
      position_ = position;
    }
    moved_.notify_all();
  }
  /// Nothing comes any more: every place counts as reached.
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    moved_.notify_all();
  }
  /// Whether it has come there, after waiting for it until then.
  bool wait(std::uint64_t position, Clock::time_point until) {
    std::unique_lock lock(mutex_);
    return moved_.wait_until(lock, until, [&] { return ended_ || position_ >= position; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable moved_;
  std::uint64_t position_ = 0;
  bool ended_ = false;
};

}  // namespace tracer::internal
