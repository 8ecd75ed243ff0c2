// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/caller.hpp"
#include "base/user_ids.hpp"
#include "serve/limits.hpp"

namespace tracer::internal {

/// Who is at the other end of a connection. The kernel says so; nothing that a client sends changes it.
struct Peer {
  uid_t uid = 0;
  pid_t pid = 0;  ///< When it connected: it may have ended since. Decides nothing.
  std::vector<gid_t> groups = {};
  bool admin = false;  ///< It came by the socket that only root can open.

  Caller caller() const noexcept { return {pid, pid, uid}; }
};

/// Of a connected socket. Absent: the kernel does not say it.
std::optional<uid_t> uid_of_peer(int socket) noexcept;
/// Of a connected socket. Absent: the kernel does not say it; no such connection is served.
std::optional<Peer> peer_of(int socket, bool admin);

/// Whose events somebody may see. Equal ones get the same frames.
struct Sight {
  bool all = false;
  std::vector<uid_t> owners = {};  ///< In order; with `all`: none. 0, which no peer has: what is root's.

  auto operator<=>(const Sight&) const = default;
};

/// A subordinate user id sees what its user sees; one of root's, or of two users' ranges, sees nobody's.
Sight sight_of(const Peer& peer, const UserIds& user_ids, const Sharing& sharing);

/// Nobody's, or everybody's: see Owner.
enum class Audience : std::uint8_t { kOwner, kRoot, kEverybody };

/// Whose an event is.
struct Owner {
  Audience audience = Audience::kRoot;
  uid_t uid = 0;  ///< With kOwner; with kRoot 0.

  auto operator<=>(const Owner&) const = default;
};

/// The one place that decides who sees what.
bool may_see(const Sight& sight, const Owner& owner) noexcept;

}  // namespace tracer::internal
