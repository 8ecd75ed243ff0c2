// SPDX-License-Identifier: Apache-2.0
#include "correlate/host_samples.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "context/scope_fact.hpp"
#include "state/held_memory.hpp"

namespace tracer::internal {
namespace {

/// What began so shortly before a snapshot may be missing in it.
constexpr std::uint64_t kSlackNs = 1'000'000'000;

/// The runs and tasks around what lives there; none: it belongs to none.
std::vector<const Scope*> works_around(const Scope* scope) {
  std::vector<const Scope*> works;
  for (; scope != nullptr; scope = scope->outer.get())
    if (fact_of(*scope) != Fact::kNone) works.push_back(scope);
  return works;
}

/// Absent: one of them is not known, or the kernel's count fell.
std::optional<std::uint64_t> grown(std::optional<std::uint64_t> now, std::optional<std::uint64_t> before) {
  if (!now || !before || *now < *before) return std::nullopt;
  return *now - *before;
}

/// Without files, which the kernel calls available.
std::uint64_t unavailable_bytes(const ProcessSample& sample) {
  const std::uint64_t bytes = sample.rss_anonymous_bytes.value_or(0) + sample.rss_shared_bytes.value_or(0);
  return std::min(bytes, sample.pss_bytes.value_or(bytes));
}

std::uint64_t rest_of(std::uint64_t from, std::uint64_t amount) { return from - std::min(from, amount); }

}  // namespace

std::optional<std::uint64_t> HostSamples::cpu_since(const Process& process, std::optional<std::uint64_t> cpu_ns) const {
  if (!cpu_ns) return std::nullopt;
  if (const auto before = cpu_ns_.find({process.pid, process.start_ns}); before != cpu_ns_.end())
    return rest_of(*cpu_ns, before->second);
  if (process.start_ns + kSlackNs < before_->time_ns) return std::nullopt;
  return cpu_ns;
}

void HostSamples::ended(const ProcessExit& exit, const Scope* scope) {
  if (!before_) return;
  if (!works_around(scope).empty()) {
    const auto cpu_ns = cpu_since(*exit.process, exit.account.cpu_ns);
    ended_known_ = ended_known_ && cpu_ns;
    ended_ns_ += cpu_ns.value_or(0);
  }
  cpu_ns_.erase({exit.process->pid, exit.process->start_ns});
}

void HostSamples::take(const std::vector<ProcessSample>& samples, ProcessTable& processes, std::vector<Event>& events) {
  if (!now_) return;
  const HostRecord now = *std::exchange(now_, std::nullopt);
  std::optional<std::uint64_t> task_cpu_ns = ended_known_ ? std::optional(ended_ns_) : std::nullopt;
  std::map<Key, std::uint64_t> living;
  std::set<const Scope*> scopes;
  HeldMemory held;
  std::uint64_t unavailable = 0;
  for (const ProcessSample& sample : samples) {
    const Process& process = *sample.process;
    if (sample.account.cpu_ns) living[{process.pid, process.start_ns}] = *sample.account.cpu_ns;
    const TrackedProcess* const tracked = processes.find(process.pid, process.start_ns);
    const auto works = works_around(tracked ? tracked->entered.get() : nullptr);
    if (works.empty()) continue;
    scopes.insert(works.begin(), works.end());
    held.add(sample);
    unavailable += unavailable_bytes(sample);
    const auto cpu_ns = before_ ? cpu_since(process, sample.account.cpu_ns) : std::nullopt;
    task_cpu_ns = task_cpu_ns && cpu_ns ? std::optional(*task_cpu_ns + *cpu_ns) : std::nullopt;
  }
  if (before_) {
    HostSample sample;
    sample.time_ns = now.time_ns;
    sample.since_ns = before_->time_ns;
    sample.cpus = now.cpus;
    sample.task_cpu_ns = task_cpu_ns;
    const auto used_ns = grown(now.used_cpu_ns, before_->used_cpu_ns);
    if (used_ns && task_cpu_ns) sample.system_cpu_ns = rest_of(*used_ns, *task_cpu_ns);
    sample.idle_cpu_ns = grown(now.idle_cpu_ns, before_->idle_cpu_ns);
    sample.steal_cpu_ns = grown(now.steal_cpu_ns, before_->steal_cpu_ns);
    sample.memory_bytes = now.memory_bytes;
    sample.available_memory_bytes = now.available_memory_bytes;
    sample.task_memory_bytes = held.bytes();
    if (now.memory_bytes && now.available_memory_bytes && held.bytes())
      sample.system_memory_bytes = rest_of(rest_of(*now.memory_bytes, *now.available_memory_bytes), unavailable);
    sample.tasks = scopes.size();
    sample.network_bytes = grown(now.network_bytes, before_->network_bytes);
    sample.storage_bytes = grown(now.storage_bytes, before_->storage_bytes);
    sample.provider = now.provider;
    sample.instance_type = now.instance_type;
    sample.instance_id = now.instance_id;
    events.emplace_back(std::move(sample));
  }
  before_ = now;
  cpu_ns_ = std::move(living);
  ended_ns_ = 0;
  ended_known_ = true;
}

}  // namespace tracer::internal
