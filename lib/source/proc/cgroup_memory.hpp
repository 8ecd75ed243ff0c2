// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "source/feed.hpp"

namespace tracer::internal {

/// Reads what the kernel charges to the cgroups that hold followed processes: their files in the v2 hierarchy, or in
/// v1's of memory.
class CgroupMemoryReader {
 public:
  /// In one snapshot; of more only the first are read.
  static constexpr std::size_t kMostCgroups = 256;

  void saw(std::uint32_t pid, Hierarchy hierarchy, std::uint64_t cgroup_id);
  /// Yields a record for each cgroup that was seen since the last call, and has a memory of its own. Nothing within a
  /// second of the last time: the files are dear to read. Calls `between` before each.
  void read(Feed& feed, const std::function<std::function<bool(std::uint32_t pid)>()>& tracks,
            const std::function<void()>& between);

 private:
  using Key = std::pair<Hierarchy, std::uint64_t>;

  std::map<Key, std::uint32_t> seen_;   ///< With one of its processes.
  std::map<Key, std::string> folders_;  ///< Of those that are seen again and again.
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace tracer::internal
