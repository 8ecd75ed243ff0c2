// SPDX-License-Identifier: Apache-2.0
#include "correlate/cgroup_samples.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "state/held_memory.hpp"

namespace tracer::internal {
namespace {

struct FollowedMemory {
  std::uint64_t processes = 0;
  HeldMemory held;
};

}  // namespace

std::vector<CgroupSample> cgroup_samples(const std::vector<CgroupMemoryRecord>& records,
                                         const std::vector<ProcessSample>& samples, CgroupTable& cgroups,
                                         bool tracked_is_followed) {
  using Key = std::pair<std::string, std::uint64_t>;
  const auto key_of = [](const CgroupMemoryRecord& record) {
    return Key(hierarchy_name(record.hierarchy), record.cgroup_id);
  };
  std::map<Key, FollowedMemory> by_cgroup;
  for (const CgroupMemoryRecord& record : records) by_cgroup[key_of(record)];
  for (const ProcessSample& sample : samples) {
    const Cgroup& cgroup = *sample.process->cgroup;
    const auto at = by_cgroup.find({cgroup.hierarchy.value_or(""), cgroup.id.value_or(0)});
    if (at == by_cgroup.end()) continue;
    ++at->second.processes;
    at->second.held.add(sample);
  }

  std::vector<CgroupSample> all;
  for (const CgroupMemoryRecord& record : records) {
    const FollowedMemory& followed = by_cgroup[key_of(record)];
    if (followed.processes == 0) continue;
    CgroupSample sample;
    sample.time_ns = samples.front().time_ns;
    sample.cgroup = cgroups.part(record.hierarchy, record.cgroup_id);
    sample.has_below = record.has_below;
    sample.processes = record.processes;
    if (record.processes && record.foreign)
      sample.followed_processes = tracked_is_followed ? *record.processes - std::min(*record.processes, *record.foreign)
                                                      : std::min(*record.processes, followed.processes);
    sample.memory_bytes = record.memory_bytes;
    sample.memory_peak_bytes = record.peak_bytes;
    sample.file_bytes = record.file_bytes;
    sample.shmem_bytes = record.shmem_bytes;
    sample.kernel_bytes = record.kernel_bytes;
    sample.held_bytes = followed.held.anonymous_bytes();
    sample.memory_limit_bytes = record.memory_limit_bytes;
    sample.cpu_limit_millicpus = record.cpu_limit_millicpus;
    sample.throttled_ns = record.throttled_ns;
    if (!sample.has_below && sample.memory_bytes && sample.held_bytes && sample.file_bytes && sample.shmem_bytes &&
        sample.kernel_bytes) {
      const std::uint64_t explained =
          *sample.held_bytes + *sample.file_bytes + *sample.shmem_bytes + *sample.kernel_bytes;
      sample.unexplained_bytes = *sample.memory_bytes - std::min(*sample.memory_bytes, explained);
    }
    all.push_back(std::move(sample));
  }
  return all;
}

}  // namespace tracer::internal
