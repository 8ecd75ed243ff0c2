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

/// Of a process whose call names no file, the paths that it may wait for: its open files and absolute arguments, then
/// its relative ones, then its folder.
std::vector<std::vector<std::string>> paths_in_use(std::vector<std::string> open, const std::string& folder,
                                                   const std::vector<std::string>& arguments);

struct AwaitedMount {
  std::string text;      ///< "/mnt/x (fuse.sshfs, host:/path)"
  bool certain = false;  ///< The call's descriptor is on it.
};

/// Of a process that waits for storage in its first thread: by the descriptor of its call, else by the first of
/// `paths_in_use` that are on a served one. Absent: it is gone, not to be read, or there are several.
std::optional<AwaitedMount> awaited_mount(std::uint32_t pid, std::uint64_t start_ns,
                                          const std::vector<std::string>& arguments);

}  // namespace tracer::internal
