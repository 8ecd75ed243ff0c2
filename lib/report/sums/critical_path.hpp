// SPDX-License-Identifier: Apache-2.0
/// The tasks that a run could not have been shorter than: each needed what the one before it had made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tracer::internal {

/// A task while it ran.
struct TaskSpan {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

/// A task read a file, or wrote it. Both are places in lists.
struct TaskFile {
  std::size_t task = 0;
  std::size_t file = 0;
  bool reads = false;
  bool writes = false;
};

struct LongestPath {
  std::vector<std::size_t> tasks = {};  ///< In their order. More than one: what they passed on is known.
  std::uint64_t length_ns = 0;          ///< What they took in all.
};

/// The longest chain of tasks of which each read a file that the one before it had written, and began when that had
/// ended. A lower bound, as what is passed on otherwise is not seen.
LongestPath path_by_files(const std::vector<TaskSpan>& tasks, const std::vector<TaskFile>& files);
/// The longest chain of tasks of which none overlaps: an upper bound, whatever they need.
LongestPath path_by_times(const std::vector<TaskSpan>& tasks);

}  // namespace tracer::internal
