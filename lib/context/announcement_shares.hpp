// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace tracer::internal {

/// What one user may hold of announcements.
struct AnnouncementLimit {
  std::size_t count = 0;
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

  explicit AnnouncementShares(std::size_t capacity) : capacity_(capacity) {}

  enum class Refusal : std::uint8_t { kNone, kCount, kBytes, kBelow, kFull };
  /// With another answer than kNone, nothing is taken. Without a limit, only kBelow is possible.
  Refusal take(const AnnouncementCost& cost, const std::optional<AnnouncementLimit>& limit);
  void give_back(const AnnouncementCost& cost) noexcept;

  struct Share {
    std::size_t count = 0;
    std::size_t bytes = 0;
  };
  Share of(uid_t uid) const;
  /// Somebody was refused since the last call: what nobody meets any more should go.
  bool take_crowded() noexcept { return crowded_.exchange(false); }

 private:
  Refusal judge(const AnnouncementCost& cost, const std::optional<AnnouncementLimit>& limit) const;

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::map<uid_t, Share> of_user_;
  std::map<std::uint32_t, std::size_t> below_;
  Share all_;
  std::atomic<bool> crowded_{false};
};

}  // namespace tracer::internal
