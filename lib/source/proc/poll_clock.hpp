// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace tracer::internal {

/// How often to look: every 10 ms while processes come and go, less and less the longer none did, at least every 250
/// ms. What is looked at waits in proportion to its age, so that what is missed of its life is a twentieth of it.
/// Looking costs no more than its share of a CPU: where it is expensive it is done less often.
class PollClock {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kShortest{10};
  static constexpr std::chrono::milliseconds kLongest{250};
  static constexpr int kPart = 20;
  static constexpr double kDefaultShare = 0.02;

  explicit PollClock(double share) : share_(std::clamp(share, 0.0001, 1.0)) {}

  /// Something came or went.
  void changed(Clock::time_point now) noexcept { changed_ = now; }
  /// A look took this of a CPU.
  void cost(std::chrono::nanoseconds cpu) noexcept {
    // One that was unusually expensive has no lasting effect.
    cost_ = std::max(cpu, (cost_ * 7 + cpu) / 8);
  }
  /// When the next is due.
  Clock::time_point next(Clock::time_point now) const noexcept {
    const auto by_cost = std::chrono::duration_cast<Clock::duration>(cost_ / share_);
    return now + std::max(pause_of(now - changed_), by_cost);
  }
  /// Between two looks at what is so old.
  static Clock::duration pause_of(Clock::duration age) noexcept {
    return std::clamp<Clock::duration>(age / kPart, kShortest, kLongest);
  }

 private:
  double share_;
  Clock::time_point changed_{};
  std::chrono::nanoseconds cost_{0};
};

}  // namespace tracer::internal
