// SPDX-License-Identifier: Apache-2.0
/// Programs that hold still, or go on at a known pace, so that a snapshot can be compared with the truth.
#pragma once

#include <string>
#include <vector>

namespace truth {

/// Two children that hold 100 and 150 MiB at once, for `MS`.
int hold_in_two_children(const std::vector<std::string>& arguments);
/// Holds `MIB`, which `CHILDREN` forks that execute nothing share, for `MS`, or "until_told": until its input ends.
int hold_shared(const std::vector<std::string>& arguments);
/// As above, but the memory is shared by MAP_SHARED; with "exec" each child is a program of its own that maps it.
int hold_mapped(const std::vector<std::string>& arguments);
/// Holds `MIB`; a child forks a grandchild and ends; the grandchild holds all of it for `MS`, as this does.
int hold_past_child(const std::vector<std::string>& arguments);
/// Holds `MIB` for `MS`.
int hold_memory(const std::vector<std::string>& arguments);
/// `CHILDREN` that each sleep for `MS`.
int sleep_in_children(const std::vector<std::string>& arguments);
/// Burns 60 ms of CPU time in the first thread, which then ends; a second ends the process after `MS`.
int first_thread_gone(const std::vector<std::string>& arguments);
/// Reads FILE in 100 steps within `MS`, and reports before each step the boot clock and the bytes read so far.
int read_at_pace(const std::vector<std::string>& arguments);

}  // namespace truth
