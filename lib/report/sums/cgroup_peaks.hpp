// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <tracer/summary.hpp>

namespace tracer::internal {

/// Keeps of each cgroup the sample in which most was charged to it. Bounded: those with the least peak are forgotten.
class CgroupPeaks {
 public:
  static constexpr std::size_t kMostCgroups = 256;

  void add(const CgroupSample& sample);
  std::vector<CgroupMemory> largest_first() const;

 private:
  std::map<std::pair<std::string, std::uint64_t>, CgroupMemory> cgroups_;  ///< By hierarchy and id.
};

}  // namespace tracer::internal
