// SPDX-License-Identifier: Apache-2.0
#include "correlate/joins/syscalls.hpp"

#include <utility>

#include "base/most_processes.hpp"
#include "rules/syscall_names.hpp"

namespace tracer::internal {

void SyscallsJoin::add(const SyscallUseRecord& record, const Process&) {
  const std::uint32_t pid = record.identity.pid;
  if (processes_.size() >= kMostLivingProcesses && !processes_.contains(pid)) return;
  Calls& calls = processes_[pid];
  if (calls.start_ns != record.identity.start_ns) calls = {record.identity.start_ns};
  for (std::uint32_t i = 0; i < record.calls.size(); ++i) {
    const SyscallUseRecord::Sums& more = record.calls[i];
    // Time without a return: its process ended in the call.
    if (more.calls == 0) continue;
    SyscallUseRecord::Sums& sums = calls.sums[record.first + i];
    sums.calls += more.calls;
    sums.failed += more.failed;
    sums.duration_ns += more.duration_ns;
    if (more.error) sums.error = more.error;
  }
}

void SyscallsJoin::report(std::uint32_t pid, std::uint64_t start_ns, std::uint64_t time_ns,
                          const std::shared_ptr<const Process>& process, std::vector<Event>& events) {
  const auto found = processes_.find(pid);
  if (found == processes_.end()) return;
  const Calls calls = std::move(found->second);
  processes_.erase(found);
  if (calls.start_ns != start_ns) return;
  for (const auto& [number, sums] : calls.sums) {
    SyscallUse use;
    use.time_ns = time_ns;
    use.process = process;
    use.number = number;
    use.name = SyscallNames::builtin().name_of(kArchitecture, number);
    use.calls = sums.calls;
    use.failed = sums.failed;
    use.duration_ns = sums.duration_ns;
    use.error = sums.error;
    events.emplace_back(std::move(use));
  }
}

void SyscallsJoin::at_exit(const ExitRecord& record, ProcessExit& exit, std::vector<Event>& events) {
  report(record.identity.pid, record.identity.start_ns, exit.time_ns, exit.process, events);
}

void SyscallsJoin::at_end(std::uint64_t time_ns, const std::shared_ptr<const Process>& process,
                          std::vector<Event>& events) {
  report(process->pid, process->start_ns, time_ns, process, events);
}

void SyscallsJoin::forget(std::uint32_t pid, std::uint64_t start_ns) {
  const auto found = processes_.find(pid);
  if (found != processes_.end() && found->second.start_ns == start_ns) processes_.erase(found);
}

}  // namespace tracer::internal
