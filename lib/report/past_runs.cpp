// SPDX-License-Identifier: Apache-2.0
#include "report/past_runs.hpp"

#include <algorithm>
#include <concepts>
#include <type_traits>

#include "context/attempts.hpp"

namespace tracer::internal {

bool PastRuns::wants(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::kRunStart:
    case EventKind::kRunFinish:
    case EventKind::kTaskStart:
    case EventKind::kTaskFinish:
    case EventKind::kTaskSubmit:
    case EventKind::kContextChange:
    case EventKind::kFinding: return true;
    default: return false;
  }
}

PastRuns::Run* PastRuns::run_of(const std::shared_ptr<const Context>& context, std::uint32_t owner_uid) {
  if (!context->run_key) return nullptr;
  Run& run = runs_[{owner_uid, *context->run_key}];
  run.run.owner_uid = owner_uid;
  run.run.run_key = *context->run_key;
  if (run.run.context == Process::no_context()) run.run.context = context;
  return &run;
}

/// Null: another attempt of it came later.
PastRuns::Task* PastRuns::task_of(Run& run, const Context& context) {
  run.counted.saw_task(context);
  const auto [known, is_new] = run.tasks.try_emplace(attempts_hash(context));
  const std::uint32_t attempt = context.attempt.value_or(1);
  if (attempt < known->second.attempt) return nullptr;
  if (attempt > known->second.attempt) known->second = {State::kUnknown, attempt};
  return &known->second;
}

void PastRuns::renamed(const ContextChange& change, std::uint32_t owner_uid) {
  if (!change.after->run_key) return;
  const auto before = runs_.find({owner_uid, change.old_run_key.value_or(*change.after->run_key)});
  if (before == runs_.end()) return;
  if (!change.after->task_key) before->second.run.context = change.after;
  if (!change.old_run_key) return;
  auto moved = runs_.extract(before);
  const bool was_open = open_.erase(moved.key()) != 0;
  moved.key().second = *change.after->run_key;
  moved.mapped().run.run_key = *change.after->run_key;
  if (was_open) open_.insert(moved.key());
  runs_.insert(std::move(moved));
}

void PastRuns::add(const Event& event, std::uint32_t owner_uid, std::uint64_t wall_offset_ns) {
  visit(
      [&](const auto& body) {
        using E = std::remove_cvref_t<decltype(body)>;
        if constexpr (std::same_as<E, ContextChange>) {
          renamed(body, owner_uid);
        } else if constexpr (std::same_as<E, RunStart>) {
          Run* const run = run_of(body.context, owner_uid);
          if (run == nullptr) return;
          const std::uint64_t begin_ns = body.start_ns + wall_offset_ns;
          if (run->run.begin_ns == 0 || begin_ns < run->run.begin_ns) run->run.begin_ns = begin_ns;
          run->run.finished = false;
          open_.insert({owner_uid, run->run.run_key});
        } else if constexpr (std::same_as<E, RunFinish>) {
          Run* const run = run_of(body.context, owner_uid);
          if (run == nullptr) return;
          run->counted.finished(body);
          PastRun& past = run->run;
          past.context = body.context;
          if (past.begin_ns == 0) past.begin_ns = body.begin_ns + wall_offset_ns;
          past.end_ns = body.end_ns + wall_offset_ns;
          past.finished = true;
          past.failed = body.failed();
          open_.erase({owner_uid, past.run_key});
        } else if constexpr (std::same_as<E, TaskStart>) {
          Run* const run = body.context->task_key ? run_of(body.context, owner_uid) : nullptr;
          if (run == nullptr) return;
          if (Task* const task = task_of(*run, *body.context)) task->state = State::kRunning;
        } else if constexpr (std::same_as<E, TaskFinish>) {
          Run* const run = body.context->task_key ? run_of(body.context, owner_uid) : nullptr;
          if (run == nullptr) return;
          const auto failed = body.failed();
          if (Task* const task = task_of(*run, *body.context))
            task->state = !failed ? State::kUnknown : *failed ? State::kFailed : State::kOk;
        } else if constexpr (std::same_as<E, TaskSubmit>) {
          Run* const run = run_of(body.context, owner_uid);
          if (run == nullptr) return;
          if (run->run.begin_ns == 0) run->run.begin_ns = body.submitted_ns + wall_offset_ns;
          Task* const task = body.context->task_key ? task_of(*run, *body.context) : nullptr;
          // What ran here is known by its end.
          if (task == nullptr || task->state == State::kOk || task->state == State::kFailed) return;
          if (body.state == "submitted") {
            task->state = State::kQueued;
          } else if (body.state == "started" || body.state == "started_elsewhere") {
            task->state = State::kRunning;
          } else {
            const std::string outcome = body.outcome.value_or("");
            task->state = outcome == "succeeded" || outcome == "cached" ? State::kOk
                          : outcome == "failed"                         ? State::kFailed
                                                                        : State::kUnknown;
          }
        } else if constexpr (std::same_as<E, Finding>) {
          if (Run* const run = run_of(body.context, owner_uid)) run->findings.insert(body.finding_key);
        }
      },
      event);
}

void PastRuns::end_recording(std::uint64_t unix_ns) {
  for (const auto& key : std::exchange(open_, {}))
    if (const auto run = runs_.find(key); run != runs_.end())
      run->second.run.end_ns = std::max(run->second.run.end_ns, unix_ns);
}

std::vector<PastRun> PastRuns::runs() const {
  std::vector<PastRun> runs;
  for (const auto& [key, run] : runs_) {
    // Of one without a beginning, only something about it is there.
    if (run.run.begin_ns == 0) continue;
    PastRun& past = runs.emplace_back(run.run);
    past.findings = run.findings.size();
    if (!run.counted.count()) continue;
    for (const auto& [name, task] : run.tasks) {
      if (task.state == State::kOk) ++past.tasks_ok;
      if (task.state == State::kFailed) ++past.tasks_failed;
      if (task.state == State::kQueued) ++past.tasks_queued;
      if (task.state == State::kRunning) ++past.tasks_running;
      if (task.state == State::kUnknown) ++past.tasks_unknown;
    }
  }
  std::sort(runs.begin(), runs.end(), [](const PastRun& one, const PastRun& other) {
    return std::pair(one.begin_ns, one.run_key) > std::pair(other.begin_ns, other.run_key);
  });
  return runs;
}

}  // namespace tracer::internal
