// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <vector>

namespace tracer::internal {

/// What a service grants to one user, whatever the number of their connections, and to all together.
struct ServeLimits {
  std::size_t connections = 4096;  ///< Of all; a part is kept free for root.
  std::size_t connections_of_user = 64;
  std::size_t subscriptions_of_user = 32;
  std::size_t labels_of_user = 1024;             ///< Open at one time.
  std::size_t announcements_of_user = 32768;     ///< Living at one time.
  std::size_t bytes_of_user = 64u << 20;         ///< Lines, replies, and frames that wait for slow clients.
  std::size_t bytes_of_subscription = 8u << 20;  ///< The most that a client may ask for as capacity.
  std::size_t bytes_kept = 4u << 20;             ///< Recent frames of one user, for clients that connect again.
  std::size_t bytes_kept_of_all = 64u << 20;     ///< Likewise of all users: who holds most loses first.
  std::chrono::seconds kept_without_clients{60};
  std::chrono::seconds stalled{30};  ///< A client over its quota that reads nothing is closed after it.
};

/// Who may see whose events besides their owners: the groups of each owner.
using Sharing = std::map<uid_t, std::vector<gid_t>>;

}  // namespace tracer::internal
