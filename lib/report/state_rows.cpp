// SPDX-License-Identifier: Apache-2.0
#include "report/state_rows.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "context/layers.hpp"

namespace tracer::internal {
namespace {

std::uint64_t number_of(ScopeId id) { return static_cast<std::uint64_t>(id); }

std::optional<PeakBounds> larger(const std::optional<PeakBounds>& known, const PeakBounds& peak) {
  return known ? larger_of(*known, peak) : peak;
}

void add_over(StateRow::Tasks& tasks, const StateRow& task) {
  add_sums(tasks.over, task.sums);
  tasks.largest = larger(tasks.largest, task.sums.memory.peak());
}

}  // namespace

std::string id_of(const StateRow& row) {
  return row.level == SummaryLevel::kStep ? fmt::format("{}/{}", number_of(row.scope->id), row.step)
                                          : fmt::format("{}", number_of(row.scope->id));
}

StateRow* StateRows::find(SummaryLevel level, ScopeId id, const std::string& step) {
  if (level == SummaryLevel::kStep) {
    const auto known = steps_.find({id, step});
    return known == steps_.end() ? nullptr : &known->second;
  }
  const auto known = scopes_.find(id);
  return known == scopes_.end() || known->second.level != level ? nullptr : &known->second;
}

StateRow* StateRows::with_key(std::uint64_t key) {
  const auto known =
      std::find_if(scopes_.begin(), scopes_.end(), [key](const auto& each) { return each.second.scope->key == key; });
  return known == scopes_.end() ? nullptr : &known->second;
}

void StateRows::collect(SummaryLevel level, std::set<ScopeId>& ids) const {
  for (const auto& [id, row] : scopes_)
    if (row.level == level) ids.insert(id);
}

void StateRows::changed(StateRow& row) {
  for (StateRow* const each : {&row, row.of_step, row.run}) {
    if (each == nullptr) continue;
    each->version = ++versions_;
    by_version_.splice(by_version_.end(), by_version_, each->place);
    if (row.is_over && each != &row) each->tasks->stale = true;
  }
}

StateRow* StateRows::scope_row(const std::shared_ptr<const Context>& context, bool is_run) {
  const Book::ScopePtr scope = book_.make(*context, is_run);
  if (!scope) return nullptr;
  const auto [at, fresh] = scopes_.try_emplace(scope->id);
  StateRow& row = at->second;
  if (!fresh) return &row;
  row.level = is_run ? SummaryLevel::kRun : SummaryLevel::kTask;
  row.scope = scope;
  row.context = is_run ? std::make_shared<const Context>(run_of(*context)) : context;
  row.place = by_version_.insert(by_version_.end(), &row);
  if (is_run) {
    ++runs_;
    row.tasks = std::make_unique<StateRow::Tasks>();
  }
  if (touch_all_) touch(row);
  changed(row);
  return &row;
}

StateRow* StateRows::step_row(StateRow& run, const std::string& step) {
  const std::pair id(run.scope->id, step);
  const auto known = steps_.find(id);
  if (known != steps_.end()) return &known->second;
  if (steps_.size() >= kMostSteps) {
    ++dropped;
    return nullptr;
  }
  StateRow& row = steps_[id];
  row.level = SummaryLevel::kStep;
  row.scope = run.scope;
  row.step = step;
  row.run = &run;
  row.tasks = std::make_unique<StateRow::Tasks>();
  row.context = run.context;
  row.place = by_version_.insert(by_version_.end(), &row);
  changed(row);
  return &row;
}

void StateRows::join_tasks(StateRow& task, StateRow* above) {
  if (above == nullptr) return;
  StateRow::Tasks& tasks = *above->tasks;
  ++tasks.count;
  if (task.is_over) {
    tasks.stale = true;
  } else {
    tasks.open.insert(&task);
  }
}

void StateRows::leave_tasks(StateRow& task, StateRow* above) {
  if (above == nullptr) return;
  changed(*above);
  StateRow::Tasks& tasks = *above->tasks;
  --tasks.count;
  tasks.open.erase(&task);
  if (task.is_over) tasks.stale = true;
}

/// It may be in another run or step by now.
void StateRows::place(StateRow& task, const std::shared_ptr<const Context>& context) {
  if (task.placed == context) return;
  task.placed = context;
  StateRow* const run = scope_row(context, true);
  StateRow* const step = run == nullptr || !context->step ? nullptr : step_row(*run, *context->step);
  if (task.run == run && task.of_step == step) return;
  leave_tasks(task, std::exchange(task.run, nullptr));
  leave_tasks(task, std::exchange(task.of_step, nullptr));
  task.run = run;
  task.of_step = step;
  join_tasks(task, run);
  join_tasks(task, step);
}

/// Its sums are found once, until it changes after all.
void StateRows::close(StateRow& task) {
  if (task.is_over || !task.living.empty() || !task.folded.empty()) return;
  task.is_over = true;
  for (StateRow* const above : {task.of_step, task.run}) {
    if (above == nullptr) continue;
    StateRow::Tasks& tasks = *above->tasks;
    tasks.open.erase(&task);
    add_over(tasks, task);
  }
}

void StateRows::add_up(StateRow& above) {
  StateRow::Tasks& tasks = *above.tasks;
  if (!std::exchange(tasks.stale, false)) return;
  tasks.over = tasks.dropped;
  tasks.largest.reset();
  for (auto& [id, task] : scopes_) {
    if (!task.is_over || (task.run != &above && task.of_step != &above)) continue;
    add_over(tasks, task);
  }
}

StateRow* StateRows::row_of(const std::shared_ptr<const Context>& context) {
  if (context->task_key) {
    if (StateRow* const task = scope_row(context, false)) {
      place(*task, context);
      return task;
    }
  }
  if (!context->run_key) return nullptr;
  StateRow* const run = scope_row(context, true);
  StateRow* const step = run == nullptr || !context->step ? nullptr : step_row(*run, *context->step);
  return step != nullptr ? step : run;
}

void StateRows::touch(StateRow& row) const {
  if (row.touched) return;
  row.touched = std::make_unique<Touched>();
  row.touched_since_ns = last_ns;
}

void StateRows::drop(StateRow& row) {
  std::erase_if(in_snapshot_, [&row](const GroupMemory* each) { return each == &row.sums.memory; });
  with_folded_.erase(&row);
  for (const std::uint32_t pid : row.living) places_[pid] = nullptr;
  by_version_.erase(row.place);
  gone_.emplace_back(++versions_, id_of(row));
  if (gone_.size() > kMostGone) {
    forgot_gone_at_ = gone_.front().first;
    gone_.pop_front();
  }
  if (row.level == SummaryLevel::kStep) {
    for (auto& [id, each] : scopes_)
      if (each.of_step == &row) each.of_step = nullptr;
    steps_.erase({row.scope->id, row.step});
    return;
  }
  for (StateRow* const above : {row.of_step, row.run}) {
    if (above == nullptr) continue;
    // What it was stays in their sums.
    add_sums(above->tasks->dropped, row.sums);
    if (!row.is_over) add_sums(above->tasks->over, row.sums);
    above->tasks->open.erase(&row);
  }
  if (row.level == SummaryLevel::kRun) {
    --runs_;
    for (auto& [id, each] : scopes_)
      if (each.run == &row) each.run = nullptr;
  }
  scopes_.erase(row.scope->id);
}

/// Two turn out to be one.
void StateRows::merge(StateRow& from, StateRow& into) {
  add_sums(into.sums, from.sums);
  for (const std::uint32_t pid : from.living) {
    places_[pid] = &into;
    into.living.insert(pid);
  }
  from.living.clear();
  if (from.tasks) {
    add_sums(into.tasks->dropped, from.tasks->dropped);
    for (auto& [id, task] : scopes_) {
      StateRow*& above = from.level == SummaryLevel::kRun ? task.run : task.of_step;
      if (above != &from) continue;
      above = &into;
      join_tasks(task, &into);
    }
    into.tasks->stale = true;
  }
  changed(into);
}

void StateRows::gone(ScopeId id, ScopeId into) {
  const auto known = scopes_.find(id);
  if (known == scopes_.end()) return;
  StateRow& row = known->second;
  const auto other = scopes_.find(into);
  const bool is_one = other != scopes_.end() && other->second.level == row.level;
  const auto steps = [&](const auto& visit) {
    for (auto each = steps_.lower_bound({id, ""}); each != steps_.end() && each->first.first == id;)
      visit((each++)->second);
  };
  if (is_one) {
    leave_tasks(row, std::exchange(row.run, nullptr));
    leave_tasks(row, std::exchange(row.of_step, nullptr));
    if (row.tasks)
      steps([&](StateRow& step) {
        if (StateRow* const now = step_row(other->second, step.step)) merge(step, *now);
      });
    merge(row, other->second);
  } else {
    ++dropped;
  }
  if (row.tasks) steps([this](StateRow& step) { drop(step); });
  drop(row);
}

template <class Start>
void StateRows::began(const Start& start, bool is_run) {
  StateRow* const row = scope_row(start.context, is_run);
  if (row == nullptr) return;
  row->finished = false;
  row->context = start.context;
  if (!is_run) place(*row, start.context);
  changed(*row);
}

template <class Finish>
void StateRows::finished(const Finish& finish, bool is_run) {
  StateRow* const row = scope_row(finish.context, is_run);
  if (row == nullptr) return;
  row->finished = true;
  row->context = finish.context;
  if (finish.task_ledger) row->sums.row.task_ledger = finish.task_ledger;
  changed(*row);
  if (!is_run) close(*row);
}

void StateRows::execed(const ProcessExec& exec) {
  ended_programs_.saw(exec);
  // Of a command that was held, nothing had begun.
  if (!exec.ended.start_ns) return;
  StateRow* const row = row_of(exec.process->context);
  if (row == nullptr) return;
  add_to(row->sums, exec.ended, exec.ended.start_ns != exec.process->start_ns);
  changed(*row);
}

void StateRows::exited(const ProcessExit& exit) {
  ++processes;
  leave(exit.process->pid);
  ended_programs_.saw(exit);
  StateRow* const row = row_of(exit.process->context);
  if (row == nullptr) return;
  add_to(row->sums, exit.program, true);
  count_end(row->sums.row, exit);
  changed(*row);
  const std::uint64_t cpu_ns = least_cpu_ns(exit.account).value_or(0);
  if (exit.process->context->engine_own || (!row->tool.empty() && cpu_ns <= row->tool_cpu_ns)) return;
  row->tool_cpu_ns = cpu_ns;
  row->tool = exit.process->program->tool.value_or("");
}

void StateRows::leave(std::uint32_t pid) {
  if (living_.erase(pid) == 0) return;
  const auto place = places_.extract(pid);
  if (place.empty() || place.mapped() == nullptr) return;
  place.mapped()->living.erase(pid);
  changed(*place.mapped());
}

/// What is in a task is in its run, too; the memory of a step is that of its largest task.
template <class Sample>
void StateRows::add_memory(StateRow* row, const Sample& sample) {
  if (row == nullptr) return;
  for (StateRow* const each : {row, row->run}) {
    if (each == nullptr) continue;
    GroupMemory& memory = each->sums.memory;
    if (!memory.in_snapshot()) in_snapshot_.push_back(&memory);
    memory.add(sample);
  }
}

void StateRows::sampled(const ProcessSample& sample) {
  const std::uint32_t pid = sample.process->pid;
  StateRow* const row = row_of(sample.process->context);
  const auto known = places_.find(pid);
  if (known != places_.end() &&
      (known->second != row || living_.at(pid).sample.process->start_ns != sample.process->start_ns))
    leave(pid);
  living_.insert_or_assign(
      pid, LivingRow{sample, ended_programs_.living(sample), ended_programs_.begin_of(*sample.process), snapshot_});
  places_.insert_or_assign(pid, row);
  if (row == nullptr) return;
  row->living.insert(pid);
  changed(*row);
  add_memory(row, sample);
}

/// Each snapshot names all that live: what is not in it has ended, even if that was lost.
void StateRows::end_snapshot() {
  for (GroupMemory* const memory : in_snapshot_) memory->end_snapshot();
  in_snapshot_.clear();
  std::vector<std::uint32_t> lost;
  for (const auto& [pid, each] : living_)
    if (each.snapshot != snapshot_) lost.push_back(pid);
  for (const std::uint32_t pid : lost) leave(pid);
  for (StateRow* const row : with_folded_) {
    row->folded.clear();
    changed(*row);
  }
  with_folded_.clear();
  folded_processes_ = 0;
  for (const ToolSample& sample : folded_) {
    folded_processes_ += sample.processes;
    StateRow* const row = row_of(sample.context);
    if (row == nullptr) continue;
    row->folded.push_back(sample);
    with_folded_.insert(row);
    changed(*row);
  }
  folded_.clear();
  ++snapshot_;
}

template <class Use>
void StateRows::used(const Use& use) {
  for (const bool is_run : {false, true}) {
    const ScopeId id = book_.id_of(*use.process->context, is_run);
    const auto known = scopes_.find(id);
    if (known == scopes_.end() || !known->second.touched) continue;
    known->second.touched->add(use);
    changed(known->second);
  }
}

void StateRows::found(const Finding& finding) {
  const auto key = static_cast<std::uint64_t>(finding.finding_key);
  if (findings_.size() >= kMostFindings && !findings_.contains(key)) {
    ++dropped;
    return;
  }
  findings_.insert_or_assign(key, StateFinding{finding, ++versions_});
}

void StateRows::failed(const FailureOrigin& failure) {
  ++failures;
  StateRow* const row = row_of(failure.process->context);
  if (row == nullptr) return;
  count_failure(row->sums.row, failure);
  changed(*row);
}

void StateRows::add(const Event& event) {
  last_ns = std::max(last_ns, event.time_ns());
  switch (event.kind()) {
    case EventKind::kProcessExec: return execed(*event.get_if<ProcessExec>());
    case EventKind::kProcessExit: return exited(*event.get_if<ProcessExit>());
    case EventKind::kProcessSample: return sampled(*event.get_if<ProcessSample>());
    case EventKind::kToolSample: {
      const auto& sample = *event.get_if<ToolSample>();
      folded_.push_back(sample);
      return add_memory(row_of(sample.context), sample);
    }
    case EventKind::kSnapshotEnd: return end_snapshot();
    case EventKind::kOwnWork: {
      const auto& work = *event.get_if<OwnWork>();
      StateRow* const row = row_of(work.process->context);
      if (row == nullptr) return;
      add_own_work(row->sums, work, OwnParts::kOfTask);
      return changed(*row);
    }
    case EventKind::kRunStart: return began(*event.get_if<RunStart>(), true);
    case EventKind::kTaskStart: {
      const auto& start = *event.get_if<TaskStart>();
      began(start, false);
      if (StateRow* const row = find(SummaryLevel::kTask, book_.id_of(*start.context, false)))
        row->sums.row.requested = start.requested;
      return;
    }
    case EventKind::kRunFinish: return finished(*event.get_if<RunFinish>(), true);
    case EventKind::kTaskFinish: {
      const auto& finish = *event.get_if<TaskFinish>();
      finished(finish, false);
      if (StateRow* const row = find(SummaryLevel::kTask, book_.id_of(*finish.context, false))) {
        row->sums.row.requested = finish.requested;
        row->sums.row.waits_for = finish.waits_for;
      }
      return;
    }
    case EventKind::kContextChange: {
      const auto& change = *event.get_if<ContextChange>();
      if (change.pid) return;
      for (const bool is_run : {false, true}) {
        const auto known = scopes_.find(book_.id_of(*change.after, is_run));
        if (known == scopes_.end() || (is_run && change.after->task_key)) continue;
        known->second.context = change.after;
        if (!is_run) place(known->second, change.after);
        changed(known->second);
      }
      return;
    }
    case EventKind::kFileUse: return used(*event.get_if<FileUse>());
    case EventKind::kConnection: return used(*event.get_if<Connection>());
    case EventKind::kFinding: return found(*event.get_if<Finding>());
    case EventKind::kLoss: {
      const auto& loss = *event.get_if<Loss>();
      losses[loss.cause] += loss.count;
      return;
    }
    case EventKind::kSessionEnd: {
      const auto& end = *event.get_if<SessionEnd>();
      over = true;
      missed_at_most = end.missed_at_most;
      ended_by_count = end.processes_ended;
      if (end.processes_started != end.processes_ended) return;
      while (!living_.empty()) leave(living_.begin()->first);
      end_snapshot();
      return;
    }
    default: return;
  }
}

void StateRows::add_what_lives(RowSums& sums, const StateRow& row) const {
  for (const std::uint32_t pid : row.living) {
    add_living(sums, living_.at(pid).program);
    count_living(sums.row);
  }
  for (const ToolSample& sample : row.folded) add_folded(sums, sample, program_of(sample));
}

SummaryRow StateRows::sums_of(StateRow& row, bool whole) {
  RowSums sums = row.sums;
  add_what_lives(sums, row);
  if (!row.tasks) {
    SummaryRow made = shown(sums, whole);
    made.task = *row.context;
    return made;
  }
  add_up(row);
  std::optional<PeakBounds> largest = row.tasks->largest;
  // Something of it is in no task.
  if (row.sums.row.first_start_ns != 0 || !row.living.empty())
    largest = larger_of(largest.value_or(PeakBounds{0, 0, 0}), sums.memory.peak());
  std::optional<TaskLedger> ledger = row.sums.row.task_ledger;
  add_sums(sums, row.tasks->over);
  for (const StateRow* const task : row.tasks->open) {
    RowSums of_task = task->sums;
    add_what_lives(of_task, *task);
    add_sums(sums, of_task);
    largest = larger(largest, of_task.memory.peak());
  }
  SummaryRow made = shown(sums, whole);
  made.task = *row.context;
  if (row.level == SummaryLevel::kStep) {
    if (largest && !whole) largest->at_most_bytes.reset();
    if (largest) set_peak(made, *largest);
    return made;
  }
  // All of a run may be one task, and the run no event.
  if (!ledger && row.tasks->count == 1 && row.sums.row.processes == 0) ledger = made.task_ledger;
  made.task_ledger = ledger;
  return made;
}

StateRows::Rows StateRows::changed_since(std::uint64_t since) {
  Rows rows;
  for (auto each = by_version_.rbegin(); each != by_version_.rend() && (*each)->version > since; ++each)
    rows.push_back(*each);
  return rows;
}

std::vector<std::pair<std::uint64_t, const Finding*>> StateRows::findings_since(std::uint64_t since) const {
  std::vector<std::pair<std::uint64_t, const Finding*>> found;
  for (const auto& [key, each] : findings_)
    if (each.version > since) found.emplace_back(each.version, &each.finding);
  return found;
}

std::vector<const LivingRow*> StateRows::living_in(const StateRow& row) const {
  std::vector<const LivingRow*> all;
  for (const std::uint32_t pid : row.living) all.push_back(&living_.at(pid));
  std::sort(all.begin(), all.end(), [](const auto* one, const auto* other) { return one->begin_ns < other->begin_ns; });
  return all;
}

}  // namespace tracer::internal
