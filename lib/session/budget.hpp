// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include <tracer/families.hpp>

namespace tracer::internal {

/// Says when a session has cost more than its share for too long, and which family to give up. One thread at a time.
class Budget {
 public:
  /// Since the session began.
  struct Cost {
    std::uint64_t reader_ns = 0;  ///< CPU time of the reading thread for this family.
    std::uint64_t kernel_ns = 0;  ///< Beside it, in others' context; 0 where the kernel does not count it.
  };
  struct Spent {
    std::uint64_t wall_ns = 0;
    std::uint64_t reader_ns = 0;           ///< CPU time of the reading thread, all families and its other work.
    std::map<Family, Cost> families = {};  ///< Those that are active.
  };

  explicit Budget(std::optional<double> max_share) : max_share_(max_share) {}

  /// To be called about once a second. The family to shed now: the dearest, but never the lifecycle; absent: none.
  std::optional<Family> check(Spent spent);
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
