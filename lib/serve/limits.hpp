// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <vector>

namespace tracer::internal {

/// What a service grants: of what is counted, as much to each user as is left free; of bytes, the same to each,
/// whatever the number of their connections.
struct ServeLimits {
  static constexpr std::size_t kLabels = 4096;   ///< Open at one time, of all.
  static constexpr std::size_t kPartOfUser = 8;  ///< One subscription gets this part of a user's bytes at most.
  static constexpr std::size_t kFiltersOfUser = 32;
  static constexpr std::size_t kLeastCapacity = 256u << 10;  ///< Of a subscription.

  std::size_t connections = 4096;             ///< Of all; a part is kept free for root.
  std::size_t bytes_of_user = 64u << 20;      ///< Lines, replies, frames that wait for slow clients, announcements.
  std::size_t bytes_kept = 4u << 20;          ///< Recent frames of one user, for clients that connect again.
  std::size_t bytes_kept_of_all = 64u << 20;  ///< Likewise of all users: who holds most loses first.
  std::chrono::seconds kept_without_clients{60};
  std::chrono::seconds stalled{30};  ///< A client over its quota that reads nothing is closed after it.

  std::size_t bytes_of_subscription() const noexcept { return std::max(kLeastCapacity, bytes_of_user / kPartOfUser); }
};

/// Who may see whose events besides their owners: the groups of each owner.
using Sharing = std::map<uid_t, std::vector<gid_t>>;

}  // namespace tracer::internal
