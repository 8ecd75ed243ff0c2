// SPDX-License-Identifier: Apache-2.0
/// Cgroups as their file systems show them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "source/records.hpp"

namespace tracer::internal {

struct CgroupFolder {
  std::uint64_t id = 0;  ///< The inode number, which is the kernel's id.
  Hierarchy hierarchy = Hierarchy::kV2;
  std::string folder;
};

/// Finds `path`, given below a hierarchy ("/docker/…") or in the file system. Of several, that in which containers
/// live.
std::optional<CgroupFolder> find_cgroup(const std::string& path);

/// Where v1's hierarchy of this controller is mounted.
std::optional<std::string> v1_mount(const std::string& controller);

/// The path below its hierarchy, of one that may be given as a folder below a mount; without a '/' at its end.
std::string path_in_hierarchy(std::string path);

/// Calls `each` for the cgroup and then all below it, parents first, until it answers false. False: it did.
bool walk_cgroups(const CgroupFolder& top, const std::function<bool(const CgroupFolder&)>& each);

/// The path below its hierarchy of the cgroup with this id; absent when there is none. Without CAP_DAC_READ_SEARCH it
/// walks all cgroups.
std::optional<std::string> cgroup_path(Hierarchy hierarchy, std::uint64_t id);

}  // namespace tracer::internal
