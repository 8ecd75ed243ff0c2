// SPDX-License-Identifier: Apache-2.0
#include "report/sums/cgroup_peaks.hpp"

#include <algorithm>

namespace tracer::internal {

void CgroupPeaks::add(const CgroupSample& sample) {
  if (!sample.memory_bytes) return;
  const std::uint64_t mark_bytes = sample.memory_peak_bytes.value_or(*sample.memory_bytes);
  const auto [at, fresh] = cgroups_.try_emplace({sample.cgroup->hierarchy.value_or(""), sample.cgroup->id.value_or(0)});
  CgroupMemory& memory = at->second.memory;
  if (fresh) at->second.mark_before_bytes = mark_bytes;
  if (fresh || memory.highest.memory_bytes < sample.memory_bytes) memory.highest = sample;
  // A mark that did not rise may be of those who were in it before.
  const bool rose = mark_bytes > at->second.mark_before_bytes || !sample.memory_peak_bytes;
  memory.peak_bytes = std::max({memory.peak_bytes, rose ? mark_bytes : 0, *memory.highest.memory_bytes});
  memory.peak_is_floor = memory.peak_bytes < mark_bytes;
  memory.followed_wholly =
      memory.followed_wholly && !sample.has_below && sample.processes && sample.processes == sample.followed_processes;
  if (cgroups_.size() <= kMostCgroups) return;
  cgroups_.erase(std::min_element(cgroups_.begin(), cgroups_.end(), [](const auto& a, const auto& b) {
    return a.second.memory.peak_bytes < b.second.memory.peak_bytes;
  }));
}

std::vector<CgroupMemory> CgroupPeaks::largest_first() const {
  std::vector<CgroupMemory> all;
  for (const auto& [key, known] : cgroups_) all.push_back(known.memory);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.peak_bytes > b.peak_bytes; });
  return all;
}

}  // namespace tracer::internal
