// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace truth {

/// The id of the container that is made as the one of this number.
std::string container_id(std::size_t number);

/// FOLDER COUNT MIB LIMIT NAME BELOW: makes so many cgroups in the folder of a cgroup, all there at once, named NAME
/// with {id} replaced by container_id(). In each a child touches MIB; LIMIT bytes of memory are allowed, if that is not
/// 0. With BELOW, the child is in a cgroup of that name below. Removes each cgroup when its child has ended, and writes
/// for each: pid of the child, its status as wait4 gives it, the most memory that the kernel has charged to the child's
/// cgroup (0: it does not say). 2: something was refused.
int live_in_containers(const std::vector<std::string>& arguments);

/// FOLDER KIND: executes another program in FOLDER, in a mount namespace of its own in which FOLDER is mounted on
/// itself (KIND "same") or hidden by an empty file system ("other"). KIND "none": in no other namespace. 2: something
/// was refused.
int work_behind_mount(const std::vector<std::string>& arguments);

}  // namespace truth
