// SPDX-License-Identifier: Apache-2.0
#include "serve/sight.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace tracer::internal {
namespace {

std::optional<ucred> credentials_of(int socket) noexcept {
  ucred credentials{};
  socklen_t bytes = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) return std::nullopt;
  if (credentials.uid == static_cast<uid_t>(-1)) return std::nullopt;
  return credentials;
}

std::vector<gid_t> groups_of(int socket) {
  std::vector<gid_t> groups(64);
  for (;;) {
    auto bytes = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &bytes) == 0) {
      groups.resize(bytes / sizeof(gid_t));
      return groups;
    }
    if (errno != ERANGE) return {};
    groups.resize(bytes / sizeof(gid_t) + 1);
  }
}

}  // namespace

std::optional<uid_t> uid_of_peer(int socket) noexcept {
  const auto credentials = credentials_of(socket);
  return credentials ? std::optional(credentials->uid) : std::nullopt;
}

std::optional<Peer> peer_of(int socket, bool admin) {
  const auto credentials = credentials_of(socket);
  if (!credentials) return std::nullopt;
  Peer peer{credentials->uid, credentials->pid, groups_of(socket), admin};
  peer.groups.push_back(credentials->gid);
  std::sort(peer.groups.begin(), peer.groups.end());
  return peer;
}

Sight sight_of(const Peer& peer, const UserIds& user_ids, const Sharing& sharing) {
  if (peer.uid == 0 || peer.admin) return {.all = true};
  const uid_t user = user_ids.user_of(peer.uid).value_or(0);
  Sight sight;
  if (user != 0) sight.owners.push_back(user);
  for (const auto& [owner, groups] : sharing) {
    const bool shared = std::any_of(groups.begin(), groups.end(), [&](gid_t group) {
      return std::binary_search(peer.groups.begin(), peer.groups.end(), group);
    });
    if (shared && owner != user && owner != 0) sight.owners.push_back(owner);
  }
  std::sort(sight.owners.begin(), sight.owners.end());
  return sight;
}

bool may_see(const Sight& sight, const Owner& owner) noexcept {
  if (sight.all || owner.audience == Audience::kEverybody) return true;
  return std::binary_search(sight.owners.begin(), sight.owners.end(), owner.uid);
}

}  // namespace tracer::internal
