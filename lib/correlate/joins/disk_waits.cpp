// SPDX-License-Identifier: Apache-2.0
#include "correlate/joins/disk_waits.hpp"

#include <algorithm>

#include "base/most_processes.hpp"

namespace tracer::internal {

/// The newest record has the sums so far. A device without a name is gone, and says nothing to anybody.
void DiskWaitsJoin::add(const DiskWaitsRecord& record, const Process&) {
  const auto longest = std::max_element(record.waits.begin(), record.waits.end(),
                                        [](const auto& a, const auto& b) { return a.wait_ns < b.wait_ns; });
  if (longest == record.waits.end() || longest->wait_ns == 0 || !longest->name) return;
  const std::uint32_t pid = record.identity.pid;
  if (processes_.size() >= kMostLivingProcesses && !processes_.contains(pid)) return;
  processes_[pid] = {record.identity.start_ns, *longest->name, longest->wait_ns};
}

const DiskWaitsJoin::Longest* DiskWaitsJoin::find(std::uint32_t pid, std::uint64_t start_ns) const {
  const auto found = processes_.find(pid);
  return found != processes_.end() && found->second.start_ns == start_ns ? &found->second : nullptr;
}

void DiskWaitsJoin::at_sample(ProcessSample& sample) {
  const Longest* const longest = find(sample.process->pid, sample.process->start_ns);
  if (longest == nullptr) return;
  sample.disk_wait_device = longest->device;
  sample.disk_wait_device_ns = longest->wait_ns;
}

void DiskWaitsJoin::at_exit(const ExitRecord& record, ProcessExit& exit, std::vector<Event>&) {
  const Longest* const longest = find(record.identity.pid, record.identity.start_ns);
  if (longest == nullptr) return;
  exit.disk_wait_device = longest->device;
  exit.disk_wait_device_ns = longest->wait_ns;
  processes_.erase(record.identity.pid);
}

void DiskWaitsJoin::forget(std::uint32_t pid, std::uint64_t start_ns) {
  if (find(pid, start_ns) != nullptr) processes_.erase(pid);
}

}  // namespace tracer::internal
