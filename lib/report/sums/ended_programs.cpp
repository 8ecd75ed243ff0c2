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
}

std::uint64_t EndedPrograms::begin_of(const Process& process) const {
  const auto ended = ended_.find(id_of(process));
  return ended == ended_.end() ? process.start_ns : ended->second.begin_ns.value_or(process.start_ns);
}

ProgramAccount EndedPrograms::living(const ProcessSample& sample) const {
  const Process& process = *sample.process;
  ProgramAccount program{process.start_ns, sample.time_ns, process.program, sample.account,
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
