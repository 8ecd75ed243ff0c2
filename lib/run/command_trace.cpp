// SPDX-License-Identifier: Apache-2.0
#include <tracer/run.hpp>

#include <tracer/session.hpp>

#include "base/reached.hpp"

namespace tracer {

bool CommandTrace::saw(const Event& event) {
  if (const auto* exec = event.get_if<ProcessExec>()) {
    if (began_ || exec->process->pid != pid_) return true;
    began_ = true;
    argv_ = exec->process->program->argv.value_or(argv_);
    // Of a command that a session has followed while it was held, nothing ends here.
    return !exec->ended.start_ns;
  }
  if (const auto* exit = event.get_if<ProcessExit>())
    if (exit->process->pid == pid_) ended_ = true;
  return true;
}

bool poll_until_ended(Session& session, const CommandTrace& trace, std::chrono::milliseconds timeout) {
  const internal::Deadline until(timeout);
  while (!trace.ended() && !session.finished() && !until.passed()) session.poll(std::chrono::milliseconds(1));
  return trace.ended();
}

}  // namespace tracer
