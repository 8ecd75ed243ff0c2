// SPDX-License-Identifier: Apache-2.0
#include "source/gpu/nvml_uses.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tracer::internal {
namespace {

template <class Map, class Key>
auto found(const Map& map, const Key& key) {
  const auto at = map.find(key);
  return at == map.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace

void NvmlUses::begin_anew() noexcept {
  devices_.clear();
  users_.clear();
}

/// Nothing is busy for longer than the time that passed, but for what rounding adds.
std::optional<std::uint64_t> NvmlUses::more_busy_ns(const std::optional<Read>& before,
                                                    std::optional<std::uint64_t> busy_ns, std::uint64_t time_ns) {
  if (!before || !before->busy_ns || !busy_ns) return std::nullopt;
  const std::uint64_t span_ns = time_ns - before->time_ns;
  if (*busy_ns < *before->busy_ns || *busy_ns - *before->busy_ns > span_ns + span_ns / 50) {
    ++refused_;
    return std::nullopt;
  }
  return std::min(*busy_ns - *before->busy_ns, span_ns);
}

std::vector<GpuRecord> NvmlUses::take(const NvmlState& state, const Processes& processes, std::uint64_t now_ns) {
  std::vector<GpuRecord> records;
  if (state.time_ns == time_ns_) return records;
  if (state.time_ns < time_ns_ || state.time_ns > now_ns) {
    ++refused_;
    return records;
  }
  time_ns_ = state.time_ns;
  std::map<std::uint32_t, Read> devices;
  std::map<User, Read> users;
  for (const NvmlDevice& device : state.devices) {
    const auto gpu_busy_ns = more_busy_ns(found(devices_, device.minor), device.busy_ns, state.time_ns);
    devices[device.minor] = {state.time_ns, device.busy_ns};
    for (const NvmlProcess& process : device.processes) {
      const auto start_ns = found(processes, process.pid);
      // A number that was another's when the driver was asked says nothing of this one.
      if (!start_ns || *start_ns > state.time_ns) continue;
      const User user(device.minor, process.pid, *start_ns);
      const auto before = found(users_, user);
      GpuRecord& record = records.emplace_back();
      record.pid = process.pid;
      record.start_ns = *start_ns;
      GpuSample& sample = record.sample;
      sample.time_ns = state.time_ns;
      if (before) sample.since_ns = before->time_ns;
      sample.gpu = fmt::format("nvidia{}", device.minor);
      sample.gpu_name = device.name;
      sample.gpu_uuid = device.uuid;
      sample.memory_bytes = process.memory_bytes;
      sample.busy_ns = more_busy_ns(before, process.busy_ns, state.time_ns);
      sample.gpu_busy_ns = before ? gpu_busy_ns : std::nullopt;
      sample.gpu_memory_bytes = device.memory_bytes;
      sample.gpu_capacity_bytes = device.capacity_bytes;
      users[user] = {state.time_ns, process.busy_ns};
    }
  }
  devices_ = std::move(devices);
  users_ = std::move(users);
  return records;
}

}  // namespace tracer::internal
