// SPDX-License-Identifier: Apache-2.0
#include "correlate/joins/memory.hpp"

#include <csignal>

namespace tracer::internal {

void MemoryJoin::at_exit(const ExitRecord& record, ProcessExit& exit, std::vector<Event>&) {
  // Where nobody has seen the signal sent, nor has anybody seen why.
  if (record.exit_signal == SIGKILL && !record.exit_signal_sender) return;
  exit.oom_killed = record.oom_killed;
}

}  // namespace tracer::internal
