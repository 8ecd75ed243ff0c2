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
  struct Known {
    CgroupMemory memory;
    std::uint64_t mark_before_bytes = 0;  ///< At the first sample.
  };

  std::map<std::pair<std::string, std::uint64_t>, Known> cgroups_;  ///< By hierarchy and id.
};

}  // namespace tracer::internal
