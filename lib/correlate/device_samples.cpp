// SPDX-License-Identifier: Apache-2.0
#include "correlate/device_samples.hpp"

#include "context/same_owner.hpp"

namespace tracer::internal {

void DeviceSamples::ended(const ExitRecord& record, std::shared_ptr<const Process> process) {
  const bool used_storage = record.total.storage_read_bytes != 0 || record.total.storage_written_bytes != 0 ||
                            record.flags.lost_sums || record.flags.lost_threads;
  if (!active_ || !used_storage) return;
  const auto owner = process ? owner_of(*process) : record.identity.uid;
  ended_.put({record.identity.start_ns, record.identity.pid}, owner, 0, std::move(process));
}

std::optional<std::shared_ptr<const Process>> DeviceSamples::find(const DeviceRecord::Use& use,
                                                                  ProcessTable& processes) const {
  if (const TrackedProcess* const tracked = processes.find(use.pid, use.start_ns))
    return tracked->selection == Selection::kSelected && !tracked->held ? tracked->process : nullptr;
  if (const auto* const ended = ended_.find({use.start_ns, use.pid})) return *ended;
  return std::nullopt;
}

void DeviceSamples::add(const DeviceRecord& record, ProcessTable& processes) {
  DeviceSample& sample = samples_.emplace_back();
  sample.since_ns = record.since_ns;
  sample.device = record.device;
  sample.device_name = record.name;
  sample.read_requests = record.read_requests;
  sample.write_requests = record.write_requests;
  sample.read_bytes = record.read_bytes;
  sample.written_bytes = record.written_bytes;
  sample.read_latency_ns = record.read_latency_ns;
  sample.write_latency_ns = record.write_latency_ns;
  sample.latency_p99_at_most_ns = record.latency_p99_at_most_ns;
  sample.busy_ns = record.busy_ns;
  for (const DeviceRecord::Use& use : record.uses) {
    const auto process = find(use, processes);
    // It may be one that is reported: whoever comes next may not be the heaviest.
    if (!process) return;
    if (!*process) continue;
    const Program& program = *(*process)->program;
    sample.heaviest_pid = (*process)->pid;
    sample.heaviest_tool = program.tool ? program.tool : program.comm;
    sample.heaviest_bytes = use.bytes;
    sample.context = (*process)->context;
    return;
  }
}

void DeviceSamples::take(std::uint64_t time_ns, std::vector<Event>& events) {
  for (DeviceSample& sample : samples_) {
    sample.time_ns = time_ns;
    events.emplace_back(std::move(sample));
  }
  samples_.clear();
  ended_.clear();
}

void DeviceSamples::stop() noexcept {
  active_ = false;
  samples_.clear();
  ended_.clear();
}

}  // namespace tracer::internal
