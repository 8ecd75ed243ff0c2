// SPDX-License-Identifier: Apache-2.0
/// What may be named where another user may read it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include <tracer/context.hpp>
#include <tracer/process.hpp>

#include "base/user_ids.hpp"

namespace tracer::internal {

/// Two runs or tasks of one owner, or both nobody's, which only root sees.
inline bool same_owner(const Context& one, const Context& other) noexcept { return one.owner_uid == other.owner_uid; }

/// Whom a process is charged to: the owner of its run or task, else its user.
inline std::optional<uid_t> owner_of(const Process& process) noexcept {
  return process.context->owner_uid ? process.context->owner_uid : process.uid;
}

/// Whether a process, which runs as `uid` in `context`, belongs to the owner of a run or task. Absent: an owner that is
/// nobody, a `uid` that is not known.
inline bool same_owner(const std::optional<std::uint32_t>& owner, const Context& context,
                       const std::optional<std::uint32_t>& uid, const UserIds& user_ids) noexcept {
  if (!owner || user_ids.same(uid, owner)) return true;
  // Root's processes in a user's task work for the user; root began what is in a task of root.
  return context.owner_uid == owner && (!uid || *uid == 0 || *owner == 0);
}

}  // namespace tracer::internal
