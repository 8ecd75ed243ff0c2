// SPDX-License-Identifier: Apache-2.0
/// Cgroups as their file systems show them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tracer {

struct CgroupFolder {
  std::uint64_t id = 0;         ///< The inode number, which is the kernel's id.
  std::uint32_t hierarchy = 0;  ///< TRACER_HIERARCHY_*
  std::string folder;
};

/// Finds `path`, given below a hierarchy ("/docker/…") or in the file system. Of several, that in which containers
/// live.
std::optional<CgroupFolder> find_cgroup(const std::string& path);

/// The path below its hierarchy, of one that may be given as a folder below a mount; without a '/' at its end.
std::string path_in_hierarchy(std::string path);

/// Calls `each` for the cgroup and then all below it, parents first.
void walk_cgroups(const CgroupFolder& top, const std::function<void(const CgroupFolder&)>& each);

}  // namespace tracer
