// SPDX-License-Identifier: Apache-2.0
#include <tracer/run.hpp>

#include <tracer/session.hpp>

namespace tracer {

bool CommandTrace::saw(const Event& event) {
  if (const auto* exec = std::get_if<ProcessExec>(&event)) {
    if (began_ || exec->process->pid != pid_) return true;
    began_ = true;
    argv_ = exec->process->argv.value_or(argv_);
    return false;
  }
  if (const auto* exit = std::get_if<ProcessExit>(&event))
    if (exit->process->pid == pid_) ended_ = true;
  return true;
}

bool poll_until_ended(Session& session, const CommandTrace& trace, std::chrono::milliseconds timeout) {
  const auto until = std::chrono::steady_clock::now() + timeout;
  while (!trace.ended() && std::chrono::steady_clock::now() < until) session.poll(std::chrono::milliseconds(1));
  return trace.ended();
}

}  // namespace tracer
