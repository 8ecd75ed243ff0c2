// SPDX-License-Identifier: Apache-2.0
#include "sums.hpp"

#include <time.h>

#include <algorithm>
#include <utility>

namespace tracer_gpu {
namespace {

constexpr std::uint64_t kMostSpanNs = 10'000'000'000;

std::uint64_t boot_time_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

/// A share of more than 100 % is passed on: who reads it decides what to make of it.
std::uint64_t share_of(std::uint64_t span_ns, unsigned percent) { return span_ns / 100 * percent; }

std::string figure(const std::optional<std::uint64_t>& value) { return value ? std::to_string(*value) : "-"; }

/// On one line, and never empty.
std::string printed(const std::string& text, char instead_of_blank) {
  std::string out;
  for (const char c : text) out += c == ' ' ? instead_of_blank : c > ' ' && c < 0x7f ? c : '?';
  return out.empty() ? "-" : out;
}

}  // namespace

void Sums::sample(Nvml::Device device, DeviceSums& sums, std::uint64_t span_ns) {
  sums.name = nvml_.name(device);
  sums.uuid = nvml_.uuid(device);
  sums.memory = nvml_.memory(device);
  const auto percent = nvml_.utilization(device);
  if (percent)
    sums.busy_ns = sums.busy_ns.value_or(0) + share_of(span_ns, *percent);
  else
    sums.busy_ns.reset();
  const auto utilizations = nvml_.utilizations(device, sums.seen_us);
  sums.by_process = utilizations.has_value();
  std::map<unsigned, Use> processes;
  for (const Process& process : nvml_.processes(device)) {
    Use& use = processes[process.pid];
    const auto before = sums.processes.find(process.pid);
    if (before != sums.processes.end()) use.busy_ns = before->second.busy_ns;
    use.memory_bytes = process.memory_bytes;
    if (!utilizations || before == sums.processes.end()) continue;
    const auto at = std::find_if(utilizations->begin(), utilizations->end(),
                                 [&](const Utilization& each) { return each.pid == process.pid; });
    if (at != utilizations->end()) use.busy_ns += share_of(span_ns, at->percent);
  }
  sums.processes = std::move(processes);
}

void Sums::sample() {
  const std::uint64_t now_ns = boot_time_ns();
  // In a longer time the machine, or this program, was stopped: the driver's percentages are of the end of it.
  const std::uint64_t span_ns = time_ns_ == 0 ? 0 : std::min(now_ns - time_ns_, kMostSpanNs);
  std::map<unsigned, DeviceSums> devices;
  for (const Nvml::Device device : nvml_.devices()) {
    const auto minor = nvml_.minor(device);
    if (!minor) continue;
    DeviceSums& sums = devices[*minor];
    sums = std::move(devices_[*minor]);
    sample(device, sums, span_ns);
  }
  devices_ = std::move(devices);
  time_ns_ = now_ns;
}

std::string Sums::text() const {
  std::string text = "state " + std::to_string(time_ns_) + '\n';
  for (const auto& [minor, sums] : devices_) {
    const auto capacity = sums.memory ? std::optional(sums.memory->capacity_bytes) : std::nullopt;
    const auto used = sums.memory ? std::optional(sums.memory->used_bytes) : std::nullopt;
    text += "device " + std::to_string(minor) + ' ' + figure(capacity) + ' ' + figure(used) + ' ' +
            figure(sums.busy_ns) + ' ' + printed(sums.uuid, '_') + ' ' + printed(sums.name, ' ') + '\n';
    for (const auto& [pid, use] : sums.processes)
      text += "process " + std::to_string(pid) + ' ' + figure(use.memory_bytes) + ' ' +
              figure(sums.by_process ? std::optional(use.busy_ns) : std::nullopt) + '\n';
  }
  return text + "end\n";
}

}  // namespace tracer_gpu
