// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include <tracer/signals.hpp>

namespace tracer::internal {

/// Says when a session has cost more than its share for too long, and which family to give up. One thread at a time.
class Budget {
 public:
  /// Sums since the session began.
  struct Spent {
    std::uint64_t wall_ns = 0;
    std::uint64_t cpu_ns = 0;                   ///< Of the reading thread.
    std::uint64_t snapshots_cpu_ns = 0;         ///< Of that, for snapshots.
    std::map<Family, std::uint64_t> kernel_ns;  ///< Empty: not known.
  };

  explicit Budget(std::optional<double> max_share) : max_share_(max_share) {}

  /// To be called about once a second. The family to shed now, of those that are active; absent: none.
  std::optional<Family> check(const Spent& spent, bool waits_active, bool snapshots_active);
  /// Of one CPU, between the last two checks.
  double share() const noexcept { return share_; }

 private:
  static constexpr int kMostSecondsOver = 3;

  std::optional<double> max_share_;
  Spent before_;
  double share_ = 0;
  int over_ = 0;
};

}  // namespace tracer::internal
