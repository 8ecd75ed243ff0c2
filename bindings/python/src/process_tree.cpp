// SPDX-License-Identifier: Apache-2.0
#include "process_tree.hpp"

namespace tracer::python {

bool ProcessTree::is_root(const Process& process) {
  if (process.pid != pid_ || process.start_ns < since_ns_) return false;
  if (!start_ns_) start_ns_ = process.start_ns;
  return process.start_ns == *start_ns_;
}

bool ProcessTree::holds(const Process& process) {
  const internal::ProcessId identity = internal::id_of(process);
  if (living_.contains(identity)) return true;
  const bool root = is_root(process);
  const bool is_child = process.parent_pid && process.parent_start_ns &&
                        living_.contains({*process.parent_pid, *process.parent_start_ns});
  if (root || is_child) {
    living_.insert(identity);
    if (process.context->run_key) runs_.insert(*process.context->run_key);
  }
  return root || is_child;
}

bool ProcessTree::takes(const Event& event) {
  bool taken = whole_;
  visit(
      [&](const auto& body) {
        if constexpr (requires { body.process->pid; }) {
          taken = holds(*body.process) || whole_;
        } else if constexpr (std::is_same_v<std::remove_cvref_t<decltype(body)>, Finding>) {
          // About a process that has ended perhaps, or a task: by the run that it belongs to.
          taken = taken || (body.context->run_key && runs_.contains(*body.context->run_key));
        } else if constexpr (requires {
                               body.context;
                               body.start_ns;
                             }) {
          taken = taken || living_.contains({body.pid, body.start_ns});
        } else if constexpr (std::is_same_v<std::remove_cvref_t<decltype(body)>, Loss> ||
                             std::is_same_v<std::remove_cvref_t<decltype(body)>, SnapshotEnd>) {
          taken = true;
        }
      },
      event);
  if (!taken) return false;
  if (const auto* exec = event.get_if<ProcessExec>()) {
    if (executed_ || !is_root(*exec->process)) return true;
    executed_ = true;
    // What ends here is a copy of this process; of a command that was held nothing does.
    return !exec->ended.start_ns;
  }
  // All that it has started was reported before.
  if (const auto* exit = event.get_if<ProcessExit>()) living_.erase({exit->process->pid, exit->process->start_ns});
  return true;
}

bool ProcessTree::is_end(const Event& event) {
  const auto* exit = event.get_if<ProcessExit>();
  return exit != nullptr && is_root(*exit->process);
}

}  // namespace tracer::python
