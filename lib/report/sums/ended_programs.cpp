// SPDX-License-Identifier: Apache-2.0
#include "report/sums/ended_programs.hpp"

#include <algorithm>

#include "base/sums.hpp"

namespace tracer::internal {

void EndedPrograms::saw(const ProcessExec& exec) {
  const ProcessId id = id_of(*exec.process);
  if (full() && !ended_.contains(id)) return;
  Ended& ended = ended_[id];
  add_figures(ended.account, exec.ended.account, Unknown::kIsPassed);
  ended.program_start_ns = exec.time_ns;
  if (!exec.ended.start_ns) ended.begin_ns = exec.time_ns;
  if (exec.ended.start_ns && !exec.ended.account.cpu_ns && ended.joined.programs.size() <= kMostJoined)
    ended.joined.programs.emplace_back(exec.process->context, exec.ended);
}

std::optional<JoinedPrograms> EndedPrograms::joined(const ProcessExit& exit) const {
  const auto ended = ended_.find(id_of(*exit.process));
  if (!exit.account.cpu_ns || ended == ended_.end() || ended->second.joined.programs.size() > kMostJoined)
    return std::nullopt;
  JoinedPrograms joined = ended->second.joined;
  if (!exit.program.account.cpu_ns) joined.programs.emplace_back(exit.process->context, exit.program);
  const Account& before = ended->second.account;
  const std::uint64_t known_ns =
      before.cpu_ns.value_or(0) + before.cpu_at_least_ns.value_or(0) + least_cpu_ns(exit.program.account).value_or(0);
  joined.cpu_ns = *exit.account.cpu_ns - std::min(*exit.account.cpu_ns, known_ns);
  return joined.programs.empty() ? std::nullopt : std::optional(joined);
}

std::uint64_t EndedPrograms::begin_of(const ProcessSample& sample) const {
  const std::uint64_t begin_ns = sample.attached_ns.value_or(sample.process->start_ns);
  const auto ended = ended_.find(id_of(*sample.process));
  return ended == ended_.end() ? begin_ns : ended->second.begin_ns.value_or(begin_ns);
}

ProgramAccount EndedPrograms::living(const ProcessSample& sample) const {
  const Process& process = *sample.process;
  ProgramAccount program{sample.attached_ns.value_or(process.start_ns), sample.time_ns, process.program, sample.account,
                         process.context->engine_own};
  const auto ended = ended_.find(id_of(process));
  if (ended == ended_.end()) return program;
  const Account& before = ended->second.account;
  program.start_ns = std::min(ended->second.program_start_ns, sample.time_ns);
  // What was read before its last exec is not in the sample.
  const auto read_bytes = program.account.read_bytes;
  take_off_figures(program.account, before);
  if (program.account.cpu_ns)
    *program.account.cpu_ns -= std::min(*program.account.cpu_ns, before.cpu_at_least_ns.value_or(0));
  program.account.read_bytes = read_bytes;
  return program;
}

}  // namespace tracer::internal
