// SPDX-License-Identifier: Apache-2.0
#include "report/sums/verdicts.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <tracer/summary.hpp>

#include "base/context_key.hpp"
#include "base/end_words.hpp"
#include "base/quantities.hpp"
#include "context/attempts.hpp"
#include "context/task_name.hpp"

namespace tracer::internal {
namespace {

Key run_key_of(const Context& context) { return context.run_key.value_or(Key{}); }

}  // namespace

Verdicts::Task* Verdicts::task_of(const Context& context) {
  if (!context.task_key || count_ > Summary::kMostTasks) return nullptr;
  Tasks& of_run = tasks_[run_key_of(context)];
  of_run.counted.saw_task(context);
  const auto [known, is_new] = of_run.by_name.try_emplace(attempts_hash(context));
  count_ += is_new ? 1 : 0;
  return &known->second;
}

void Verdicts::add(const TaskFinish& finish) {
  const Context& context = *finish.context;
  Task* const task = task_of(context);
  if (task == nullptr) return;
  const auto failed = finish.failed();
  task->has_failed |= failed.value_or(false);
  const std::uint32_t attempt = context.attempt.value_or(1);
  if (attempt >= task->attempt) {
    task->attempt = attempt;
    task->here = true;
    task->last = !failed ? End::kUnknown : *failed ? End::kFailed : End::kOk;
  }
  ended_well_[*context.task_key] = failed == false;
}

Verdicts::End Verdicts::end_of(const TaskSubmit& submit) {
  if (submit.state == "submitted") return End::kQueued;
  if (submit.state == "started") return End::kRunning;
  if (submit.state == "started_elsewhere") return End::kElsewhere;
  if (submit.state == "expired") return End::kExpired;
  if (submit.outcome == "succeeded") return End::kOk;
  if (submit.outcome == "failed") return End::kFailed;
  return submit.outcome == "cached" ? End::kCached : submit.outcome == "aborted" ? End::kAborted : End::kUnknown;
}

/// What is seen of a task that has started here says more.
void Verdicts::add(const TaskSubmit& submit) {
  Task* const task = task_of(*submit.context);
  const std::uint32_t attempt = submit.context->attempt.value_or(1);
  if (task == nullptr || attempt < task->attempt || (attempt == task->attempt && task->here)) return;
  task->attempt = attempt;
  task->here = submit.state == "started";
  task->last = end_of(submit);
  task->has_failed |= task->last == End::kFailed;
}

void Verdicts::add(const RunFinish& finish) {
  const Context& context = *finish.context;
  if (!context.run_key || runs_.size() >= Summary::kMostRuns) return;
  std::string name = run_name(context);
  if (name.empty()) name = context.engine.value_or("this run");
  runs_[*context.run_key] = {std::move(name), finish.end_ns - std::min(finish.end_ns, finish.begin_ns),
                             finish.exit_code, finish.exit_signal};
  tasks_[*context.run_key].counted.finished(finish);
  ended_well_[*context.run_key] = finish.failed() == false;
}

bool Verdicts::succeeded_later(const Context& task) const {
  if (!task.task_key) return false;
  const auto of_run = tasks_.find(run_key_of(task));
  if (of_run == tasks_.end()) return false;
  const auto& names = of_run->second.by_name;
  const auto known = names.find(attempts_hash(task));
  return known != names.end() && known->second.last == End::kOk && known->second.attempt > task.attempt.value_or(1);
}

void Verdicts::put_tasks(std::string& out, bool all_succeeded) const {
  if (count_ > Summary::kMostTasks) return;
  std::size_t all = 0;
  std::size_t retried = 0;
  std::map<End, std::size_t> ends;
  for (const auto& [run, tasks] : tasks_) {
    if (!tasks.counted.count()) continue;
    all += tasks.by_name.size();
    for (const auto& [name, task] : tasks.by_name)
      ++(task.last == End::kOk && task.has_failed ? retried : ends[task.last]);
  }
  if (all == 0) return;
  out += fmt::format(": {} {}", all, all == 1 ? "task" : "tasks");
  const auto put = [&out](std::size_t count, const char* what) {
    if (count != 0) out += fmt::format(", {} {}", count, what);
  };
  put(ends[End::kOk], "ok");
  put(retried, "retried and then ok");
  put(ends[End::kFailed], all_succeeded ? "ignored" : "failed");
  put(ends[End::kUnknown], "of unknown status");
  put(ends[End::kRunning], "running");
  put(ends[End::kQueued], "queued");
  put(ends[End::kElsewhere], "elsewhere");
  put(ends[End::kCached], "cached");
  put(ends[End::kAborted], "aborted");
  put(ends[End::kExpired], "expired");
}

std::string Verdicts::text(const std::vector<Finding>& findings) const {
  if (runs_.empty()) return {};
  std::string out;
  std::size_t succeeded = 0;
  for (const auto& [key, run] : runs_) succeeded += ended_well_.at(key) ? 1 : 0;
  if (runs_.size() == 1) {
    const Run& run = runs_.begin()->second;
    const bool is_known = run.exit_code || run.exit_signal;
    const std::string how =
        run.exit_signal ? "was ended by " + signal_name(*run.exit_signal)
        : !is_known     ? "ended, nobody knows how,"
                        : fmt::format("{} (status {})", succeeded == 1 ? "succeeded" : "failed", *run.exit_code);
    out = run.name + ' ' + how;
    if (run.wall_ns != 0) out += (run.exit_signal ? " after " : " in ") + format_duration(run.wall_ns);
  } else {
    out = fmt::format("{} runs, {} succeeded", runs_.size(), succeeded);
  }
  put_tasks(out, succeeded == runs_.size());
  std::set<Key> silent;
  for (const Finding& finding : findings) {
    const bool is_failure = finding.subject == "process" && finding.severity != "note" &&
                            std::any_of(finding.evidence.begin(), finding.evidence.end(),
                                        [](const Evidence& each) { return each.name == "how"; });
    const auto& key = innermost_key(*finding.context);
    const auto end = key ? ended_well_.find(*key) : ended_well_.end();
    if (is_failure && end != ended_well_.end() && end->second) silent.insert(*key);
  }
  if (!silent.empty()) out += fmt::format("; something failed unnoticed in {}", silent.size());
  return out;
}

}  // namespace tracer::internal
