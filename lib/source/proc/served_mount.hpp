// SPDX-License-Identifier: Apache-2.0
/// Which file system that others serve, such as NFS or FUSE, a process waits for. Asks none of them: it may hang.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "source/proc/file_system_space.hpp"

namespace tracer::internal {

/// The one of `mounts` that all of `paths` are on which are on a served one. Null: there is none, or several.
const SeenMount* served_mount_of(const std::vector<SeenMount>& mounts, const std::vector<std::string>& paths);

/// Of a process that waits for storage in its first thread: by the descriptor of its call; else by its open files and
/// arguments, else by its folder. "/mnt/x (fuse.sshfs, host:/path)". Absent: it is gone, not to be read, or it is not
/// certain which.
std::optional<std::string> awaited_mount(std::uint32_t pid, std::uint64_t start_ns,
                                         const std::vector<std::string>& arguments);

}  // namespace tracer::internal
