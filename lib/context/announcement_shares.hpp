// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/accounts.hpp"
#include "base/fair_room.hpp"

namespace tracer::internal {

/// The bytes of announcements that one user may hold.
struct AnnouncementLimit {
  std::size_t bytes = 0;
};

/// What an announcement takes.
struct AnnouncementCost {
  uid_t uid = 0;
  std::size_t bytes = 0;
  std::optional<std::uint32_t> below = {};  ///< The process of whose descendants it speaks by their arguments.
};

/// How much of all announcements is taken, by whom: from before an announcement is accepted until it is dropped. Any
/// thread.
class AnnouncementShares {
 public:
  /// Each program that is executed below a process is compared with all patterns for it.
  static constexpr std::size_t kMostBelow = 256;
  static constexpr std::size_t kMostBytes = 256u << 20;  ///< Of all users with a limit.

  explicit AnnouncementShares(std::size_t capacity, std::shared_ptr<Accounts> accounts = std::make_shared<Accounts>())
      : accounts_(std::move(accounts)), count_(capacity), bytes_(kMostBytes) {}

  enum class Refusal : std::uint8_t { kNone, kBytes, kBelow, kFull };
  /// With another answer than kNone, nothing is taken. Without a limit, only kBelow is possible.
  Refusal take(const AnnouncementCost& cost, const std::optional<AnnouncementLimit>& limit);
  void give_back(const AnnouncementCost& cost) noexcept;

  struct Share {
    std::size_t count = 0;
    std::size_t bytes = 0;
  };
  /// With what the user's subordinate ids hold.
  Share of(uid_t user) const;
  /// Somebody was refused since the last call: what nobody meets any more should go.
  bool take_crowded() noexcept { return crowded_.exchange(false); }

 private:
  Refusal judge(uid_t user, const AnnouncementCost& cost, const std::optional<AnnouncementLimit>& limit) const;

  const std::shared_ptr<Accounts> accounts_;
  mutable std::mutex mutex_;
  FairRoom count_;
  FairRoom bytes_;
  std::map<std::uint32_t, std::size_t> below_;
  std::atomic<bool> crowded_{false};
};

}  // namespace tracer::internal
