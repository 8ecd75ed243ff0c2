// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace tracer::internal {

/// A lock for which one may wait a limited time.
class Gate {
 public:
  using Clock = std::chrono::steady_clock;

  void lock() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return !taken_; });
    taken_ = true;
  }
  bool try_lock() { return try_lock_until(Clock::time_point::min()); }
  bool try_lock_until(Clock::time_point until) {
    std::unique_lock lock(mutex_);
    while (taken_)
      if (Clock::now() >= until || opened_.wait_until(lock, until) == std::cv_status::timeout)
        if (taken_) return false;
    taken_ = true;
    return true;
  }
  void unlock() {
    {
      const std::lock_guard lock(mutex_);
      taken_ = false;
    }
    opened_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool taken_ = false;
};

}  // namespace tracer::internal
