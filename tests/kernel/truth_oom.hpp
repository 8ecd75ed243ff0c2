// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace truth {

/// COUNT PROCS HOW: so many children, one after the other, join the cgroup with that file. "exceed": each takes memory
/// until it is killed. "killed": each takes nearly all that the cgroup may have, and is killed by this process. Writes
/// their pids. 0: each was ended by SIGKILL.
int end_in_cgroup(const std::vector<std::string>& arguments);

/// PROCS: in that cgroup a large child sleeps while a small one asks for more than there is. Writes the pids of both.
/// 0: the large one was ended by SIGKILL, and the small one has got what it wanted.
int starve_neighbor(const std::vector<std::string>& arguments);

/// PROCS: joins that cgroup and takes memory until it is killed.
int exceed(const std::vector<std::string>& arguments);

/// COMMAND: becomes a shell that runs it. 127: there is no shell.
int shell(const std::vector<std::string>& arguments);

}  // namespace truth
