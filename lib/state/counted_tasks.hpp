// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include <tracer/task.hpp>

namespace tracer::internal {

/// Tasks of a run ran for a fifth of its time or more, and speak for it.
constexpr bool tasks_speak(std::uint64_t without_task_ns, std::uint64_t wall_ns) noexcept {
  return without_task_ns <= wall_ns - wall_ns / 5;
}

/// All processes of a task that has finished are in others, such as those of a job that is a task of an engine, too: it
/// counts no more.
constexpr bool is_within_others(std::uint64_t processes, bool is_any_seen) noexcept {
  return processes != 0 && !is_any_seen;
}

/// Whether a run counts as one with tasks. Scripts that a script started are tasks by inference alone: where a run has
/// no others, they count only if they speak for it.
class CountedTasks {
 public:
  void saw_task(const Context& task) {
    const auto is_inferred = [](const std::optional<Provenance>& by) {
      return by.value_or(Provenance::kInferred) == Provenance::kInferred;
    };
    has_others_ = has_others_ || task.engine != "shell" || !is_inferred(task.provenance.task) ||
                  !is_inferred(task.provenance.step) || !is_inferred(task.provenance.task_id);
  }
  void finished(const RunFinish& run) {
    speak_ = !run.without_task_ns || tasks_speak(*run.without_task_ns, run.end_ns - std::min(run.begin_ns, run.end_ns));
  }
  bool count() const noexcept { return has_others_ || speak_; }

 private:
  bool has_others_ = false;
  bool speak_ = true;  ///< Until the run is over.
};

}  // namespace tracer::internal
