// SPDX-License-Identifier: Apache-2.0
#include "correlate/device_samples.hpp"

#include <algorithm>

namespace tracer::internal {

DeviceSample device_sample(const DeviceRecord& record, ProcessTable& processes) {
  DeviceSample sample;
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
  const DeviceRecord::Use* heaviest = nullptr;
  const TrackedProcess* heaviest_process = nullptr;
  for (const DeviceRecord::Use& use : record.uses) {
    if (heaviest && use.bytes <= heaviest->bytes) continue;
    const TrackedProcess* const tracked = processes.find(use.pid, use.start_ns);
    if (!tracked || tracked->selection != Selection::kSelected || tracked->held) continue;
    heaviest = &use;
    heaviest_process = tracked;
  }
  if (!heaviest) return sample;
  const Process& process = *heaviest_process->process;
  sample.heaviest_pid = process.pid;
  sample.heaviest_tool = process.program->tool ? process.program->tool : process.program->comm;
  sample.heaviest_bytes = heaviest->bytes;
  sample.context = process.context;
  return sample;
}

}  // namespace tracer::internal
