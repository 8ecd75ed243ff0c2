// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <tracer/process.hpp>

#include "base/folder.hpp"

namespace tracer::internal {

/// Whether a process of root works for `user`, who has a task in the folder `of_task`: it is in a container, which
/// names the folder by a path of its own, but the kernel says that its working folder is the same, and the user's. A
/// path alone proves nothing: within a container it may lead to any folder.
inline bool works_for(uid_t user, const Folder& of_task, const Process& process, const Folder& own) noexcept {
  return user != 0 && process.uid == 0u && process.cgroup->container_id && seen_apart(own, of_task) &&
         is_same(own, of_task) && own.owner == user;
}

}  // namespace tracer::internal
