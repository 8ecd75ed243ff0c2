// SPDX-License-Identifier: Apache-2.0
#include "report/state_rows.hpp"

#include <algorithm>
#include <utility>

#include "base/heap_bytes.hpp"
#include "context/layers.hpp"

namespace tracer::internal {
namespace {

/// With what the tables of the rows add.
constexpr std::size_t kBytesOfRow = sizeof(StateRow) + 256;
constexpr std::size_t kBytesAbove = kBytesOfRow + sizeof(TasksBelow);
/// A file, with its path, or a peer.
constexpr std::size_t kBytesOfTouched = 1024;

}  // namespace

StateRow* StateRows::find(SummaryLevel level, ScopeId id, const std::string& step) {
  if (level == SummaryLevel::kStep) {
    const auto known = steps_.find({id, step});
    return known == steps_.end() ? nullptr : &known->second;
  }
  const auto known = scopes_.find(id);
  return known == scopes_.end() || known->second.level != level ? nullptr : &known->second;
}

StateRow* StateRows::with_key(std::uint64_t key) {
  const Book::ScopePtr scope = book_.find_key(key);
  const auto known = scope ? scopes_.find(scope->id) : scopes_.end();
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
    if (row.is_over && each != &row) each->tasks->changed();
  }
}

StateRow* StateRows::scope_row(const std::shared_ptr<const Context>& context, bool is_run) {
  const Book::ScopePtr scope = book_.make(*context, is_run);
  if (!scope) return nullptr;
  if (is_run && scope->finished && !scope->started) {
    book_.reopen(*scope);
    left_.insert(scope->id);
  }
  if (const auto known = scopes_.find(scope->id); known != scopes_.end()) return &known->second;
  if (!book_.charge(*scope, is_run ? kBytesAbove : kBytesOfRow)) {
    ++dropped;
    return nullptr;
  }
  StateRow& row = scopes_[scope->id];
  row.level = is_run ? SummaryLevel::kRun : SummaryLevel::kTask;
  row.scope = scope;
  row.place = by_version_.insert(by_version_.end(), &row);
  keep(row, is_run ? std::make_shared<const Context>(run_of(*context)) : context);
  if (is_run) {
    ++runs_;
    row.tasks = std::make_unique<TasksBelow>();
  }
  if (touch_all_) touch(row);
  left_.insert(scope->id);
  changed(row);
  return &row;
}

/// It is charged as a part of its run.
StateRow* StateRows::step_row(StateRow& run, const std::string& step) {
  const std::pair id(run.scope->id, step);
  const auto known = steps_.find(id);
  if (known != steps_.end()) return &known->second;
  if (!book_.charge(*run.scope, kBytesAbove + 2 * step.size())) {
    ++dropped;
    return nullptr;
  }
  StateRow& row = steps_[id];
  row.level = SummaryLevel::kStep;
  row.scope = run.scope;
  row.step = step;
  row.run = &run;
  row.tasks = std::make_unique<TasksBelow>();
  row.context = run.context;
  row.place = by_version_.insert(by_version_.end(), &row);
  changed(row);
  return &row;
}

/// What it grows by is charged. Where there is no room, it stays as it was.
void StateRows::keep(StateRow& row, std::shared_ptr<const Context> context) {
  if (row.context == context) return;
  const std::size_t bytes = sizeof(Context) + heap_bytes(*context);
  if (bytes > row.context_bytes) {
    if (!book_.charge(*row.scope, bytes - row.context_bytes)) return;
    row.context_bytes = bytes;
  }
  row.context = std::move(context);
}

StateRows::Above StateRows::above(const std::shared_ptr<const Context>& context) {
  StateRow* const run = scope_row(context, true);
  return {run, run == nullptr || !context->step ? nullptr : step_row(*run, *context->step)};
}

StateRow* StateRows::task_row(const std::shared_ptr<const Context>& context) {
  StateRow* const task = scope_row(context, false);
  if (task == nullptr || task->placed == context) return task;
  const Above rows = above(context);
  place(*task, rows);
  if (rows.run != nullptr) rows.run->counted.saw_task(*context);
  // Another time there may be room for its run.
  if (rows.run != nullptr || !context->run_key) task->placed = context;
  return task;
}

/// It may be in another run or step by now.
void StateRows::place(StateRow& task, const Above& above) {
  if (task.run == above.run && task.of_step == above.step) return;
  if (above.run != nullptr && task.run != above.run) above.run->sums.memory.add(task.sums.memory);
  leave_tasks(task, std::exchange(task.run, above.run));
  leave_tasks(task, std::exchange(task.of_step, above.step));
  for (StateRow* const each : {above.run, above.step})
    if (each != nullptr) each->tasks->join(task);
}

void StateRows::leave_tasks(StateRow& task, StateRow* above) {
  if (above == nullptr) return;
  changed(*above);
  above->tasks->leave(task);
}

void StateRows::close(StateRow& task) {
  if (task.is_over || !task.finished || !task.living.empty() || !task.folded.empty()) return;
  task.is_over = true;
  task.placed.reset();
  for (StateRow* const above : {task.of_step, task.run})
    if (above != nullptr) above->tasks->close(task);
  if (task.run != nullptr) left_.insert(task.run->scope->id);
}

/// Something lives in it after all.
void StateRows::open(StateRow& task) {
  if (!task.is_over) return;
  task.is_over = false;
  for (StateRow* const above : {task.of_step, task.run})
    if (above != nullptr) above->tasks->open(task);
}

void StateRows::close_left() {
  for (const ScopeId id : std::exchange(left_, {})) {
    const auto known = scopes_.find(id);
    if (known == scopes_.end()) continue;
    StateRow& row = known->second;
    if (!is_left(row)) continue;
    if (!row.tasks) {
      row.finished = true;
      close(row);
    }
    book_.finish(row.scope, row.context->owner_uid);
  }
}

StateRow* StateRows::row_of(const std::shared_ptr<const Context>& context) {
  if (context->task_key)
    if (StateRow* const task = task_row(context)) return task;
  if (!context->run_key) return nullptr;
  const Above rows = above(context);
  return rows.step != nullptr ? rows.step : rows.run;
}

void StateRows::touch(StateRow& row) const {
  if (row.touched) return;
  row.touched = std::make_unique<Touched>();
  row.touched_since_ns = last_ns;
}

void StateRows::note_gone(const StateRow& row) {
  gone_.emplace_back(++versions_, id_of(row));
  if (gone_.size() <= kMostGone) return;
  forgot_gone_at_ = gone_.front().first;
  gone_.pop_front();
}

void StateRows::drop(StateRow& row) {
  in_snapshot_.erase(&row.sums.memory);
  with_folded_.erase(&row);
  for (const std::uint32_t pid : row.living) places_[pid] = nullptr;
  by_version_.erase(row.place);
  note_gone(row);
  if (row.level == SummaryLevel::kStep) {
    for (StateRow* const task : row.tasks->all()) task->of_step = nullptr;
    steps_.erase({row.scope->id, row.step});
    return;
  }
  // What it was stays in their sums.
  for (StateRow* const above : {row.of_step, row.run})
    if (above != nullptr) above->tasks->drop(row);
  if (row.run != nullptr) left_.insert(row.run->scope->id);
  if (row.level == SummaryLevel::kRun) {
    --runs_;
    for (StateRow* const task : row.tasks->all()) {
      task->run = nullptr;
      task->placed.reset();
    }
  }
  scopes_.erase(row.scope->id);
}

/// Two turn out to be one.
void StateRows::merge(StateRow& from, StateRow& into) {
  add_sums(into.sums, from.sums);
  into.sums.row.submitted.started |= from.sums.row.submitted.started;
  count_submitted(into.sums.row);
  for (const std::uint32_t pid : from.living) {
    places_[pid] = &into;
    into.living.insert(pid);
  }
  from.living.clear();
  into.folded.insert(into.folded.end(), from.folded.begin(), from.folded.end());
  if (with_folded_.erase(&from) != 0) with_folded_.insert(&into);
  if (!into.living.empty() || !into.folded.empty()) open(into);
  if (from.tasks) {
    into.tasks->add_dropped(*from.tasks);
    for (StateRow* const task : from.tasks->all()) {
      (from.level == SummaryLevel::kRun ? task->run : task->of_step) = &into;
      from.tasks->leave(*task);
      into.tasks->join(*task);
    }
  }
  changed(into);
}

std::vector<StateRow*> StateRows::steps_of(ScopeId run) {
  std::vector<StateRow*> rows;
  for (auto each = steps_.lower_bound({run, ""}); each != steps_.end() && each->first.first == run; ++each)
    rows.push_back(&each->second);
  return rows;
}

/// The other scope has no row yet.
void StateRows::become(StateRow& row, const Book::ScopePtr& scope) {
  const ScopeId before = row.scope->id;
  note_gone(row);
  for (StateRow* const step : row.tasks ? steps_of(before) : Rows()) {
    note_gone(*step);
    auto node = steps_.extract({before, step->step});
    node.key().first = scope->id;
    node.mapped().scope = scope;
    changed(steps_.insert(std::move(node)).position->second);
  }
  auto node = scopes_.extract(before);
  node.key() = scope->id;
  node.mapped().scope = scope;
  changed(scopes_.insert(std::move(node)).position->second);
}

void StateRows::gone(ScopeId id, ScopeId into) {
  const auto known = scopes_.find(id);
  if (known == scopes_.end()) return;
  StateRow& row = known->second;
  const Book::ScopePtr scope = book_.find(into);
  if (scope && !scopes_.contains(into)) return become(row, scope);
  StateRow* const same = scope ? find(row.level, into) : nullptr;
  if (same != nullptr) {
    leave_tasks(row, std::exchange(row.run, nullptr));
    leave_tasks(row, std::exchange(row.of_step, nullptr));
    if (row.tasks)
      for (StateRow* const step : steps_of(id))
        if (StateRow* const now = step_row(*same, step->step)) merge(*step, *now);
    merge(row, *same);
  } else {
    ++dropped;
  }
  if (row.tasks)
    for (StateRow* const step : steps_of(id)) drop(*step);
  drop(row);
}

template <class Start>
StateRow* StateRows::began(const Start& start, bool is_run) {
  StateRow* const row = is_run ? scope_row(start.context, true) : task_row(start.context);
  if (row == nullptr) return nullptr;
  row->finished = false;
  if (!is_run) open(*row);
  keep(*row, start.context);
  changed(*row);
  return row;
}

template <class Finish>
StateRow* StateRows::finished(const Finish& finish, bool is_run) {
  StateRow* const row = is_run ? scope_row(finish.context, true) : task_row(finish.context);
  if (row == nullptr) return nullptr;
  row->finished = true;
  keep(*row, finish.context);
  if (finish.task_ledger) row->sums.row.task_ledger = finish.task_ledger;
  changed(*row);
  return row;
}

/// What is in a task is in its run, too; the memory of a run is no sum of its tasks'.
void StateRows::program_ended(StateRow& row, const ProgramAccount& program, bool peak_matters) {
  add_to(row.sums, program, peak_matters);
  if (row.run != nullptr) row.run->sums.memory.ended(program, peak_matters);
}

void StateRows::execed(const ProcessExec& exec) {
  // Of a command that was held, nothing had begun.
  if (!exec.ended.start_ns) return;
  StateRow* const row = row_of(exec.process->context);
  if (row == nullptr) return;
  program_ended(*row, exec.ended, exec.ended.start_ns != exec.process->start_ns);
  changed(*row);
}

void StateRows::exited(const ProcessExit& exit) {
  ++processes;
  leave(exit.process->pid);
  StateRow* const row = row_of(exit.process->context);
  if (row == nullptr) return;
  const auto joined = ended_programs_.joined(exit);
  program_ended(*row, exit.program, true);
  if (joined && std::all_of(joined->programs.begin(), joined->programs.end(),
                            [&](const auto& each) { return row_of(each.first) == row; }))
    settle_cpu(row->sums.row, joined->programs.size(), joined->cpu_ns, true);
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
  StateRow& row = *place.mapped();
  row.living.erase(pid);
  changed(row);
  if (!row.tasks) return close(row);
  left_.insert(row.scope->id);
}

/// What is in a task is in its run, too; the memory of a step is that of its largest task.
template <class Sample>
void StateRows::add_memory(StateRow* row, const Sample& sample) {
  if (row == nullptr) return;
  for (StateRow* const each : {row, row->run}) {
    if (each == nullptr) continue;
    GroupMemory& memory = each->sums.memory;
    if (!memory.in_snapshot()) in_snapshot_.insert(&memory);
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
      pid, LivingRow{sample, ended_programs_.living(sample), ended_programs_.begin_of(sample), snapshot_});
  places_.insert_or_assign(pid, row);
  if (row == nullptr) return;
  open(*row);
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
    if (!row->tasks) close(*row);
  }
  with_folded_.clear();
  folded_processes_ = 0;
  for (const ToolSample& sample : folded_) {
    folded_processes_ += sample.processes;
    StateRow* const row = row_of(sample.context);
    if (row == nullptr) continue;
    open(*row);
    row->folded.push_back(sample);
    with_folded_.insert(row);
    changed(*row);
  }
  folded_.clear();
  ++snapshot_;
  close_left();
}

template <class Use>
void StateRows::used(const Use& use) {
  for (const bool is_run : {false, true}) {
    const ScopeId id = book_.id_of(*use.process->context, is_run);
    const auto known = scopes_.find(id);
    if (known == scopes_.end() || !known->second.touched) continue;
    StateRow& row = known->second;
    row.touched->add(use);
    changed(row);
    // A recording's own are bounded as they are.
    if (touch_all_ || row.touched->size() <= row.touched_charged) continue;
    row.touched_charged = row.touched->size();
    if (book_.charge(*row.scope, kBytesOfTouched)) continue;
    row.touched.reset();
    row.touched_charged = 0;
    ++dropped;
  }
}

void StateRows::failed(const FailureOrigin& failure) {
  ++failures;
  StateRow* const row = row_of(failure.process->context);
  if (row == nullptr) return;
  count_failure(row->sums.row, failure);
  changed(*row);
}

void StateRows::submitted(const TaskSubmit& submit) {
  if (!submit.context->task_key) return expect(submit);
  StateRow* const row = task_row(submit.context);
  if (row == nullptr) return;
  changed(*row);
  SubmittedTask& task = row->sums.row.submitted;
  if (row->scope->started) task.started = true;
  add_submit(row->sums.row, submit);
  if (task.state.empty() || task.state == "submitted" || task.state == "started_elsewhere") return;
  row->finished = true;
  book_.finish(row->scope, row->context->owner_uid);
  close(*row);
}

void StateRows::expect(const TaskSubmit& submit) {
  StateRow* const run = scope_row(submit.context, true);
  if (run == nullptr) return;
  run->awaited = submit.state == "submitted";
  if (!run->awaited) left_.insert(run->scope->id);
  for (const ExpectedTasks& each : submit.expected) {
    StateRow* const step = step_row(*run, each.step);
    if (step == nullptr) continue;
    step->expected = each.tasks;
    changed(*step);
  }
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
      if (row->run != nullptr) row->run->sums.memory.worked(work.account.peak_rss_bytes, work.account.peak_rss_bytes);
      return changed(*row);
    }
    case EventKind::kRunStart: began(*event.get_if<RunStart>(), true); return;
    case EventKind::kTaskStart: {
      const auto& start = *event.get_if<TaskStart>();
      StateRow* const row = began(start, false);
      if (row == nullptr) return;
      return add_start(row->sums.row, start);
    }
    case EventKind::kTaskSubmit: return submitted(*event.get_if<TaskSubmit>());
    case EventKind::kRunFinish: {
      const auto& finish = *event.get_if<RunFinish>();
      StateRow* const row = finished(finish, true);
      if (row == nullptr) return;
      row->counted.finished(finish);
      if (row->counted.count()) return;
      for (StateRow* const task : row->tasks->all()) note_gone(*task);
      for (StateRow* const step : steps_of(row->scope->id)) note_gone(*step);
      return;
    }
    case EventKind::kTaskFinish: {
      const auto& finish = *event.get_if<TaskFinish>();
      StateRow* const row = finished(finish, false);
      if (row == nullptr) return;
      add_requested(row->sums.row, finish.requested);
      row->sums.row.waits_for = finish.waits_for;
      if (is_within_others(finish.totals.processes, is_any_seen(*row))) return drop(*row);
      return close(*row);
    }
    case EventKind::kContextChange: {
      const auto& change = *event.get_if<ContextChange>();
      if (change.pid) return;
      for (const bool is_run : {false, true}) {
        const auto known = scopes_.find(book_.id_of(*change.after, is_run));
        const bool is_of_task = is_run && change.after->task_key;
        if (known == scopes_.end() || (is_of_task && !change.old_run_key)) continue;
        StateRow* const row = is_run ? &known->second : task_row(change.after);
        if (row == nullptr) continue;
        keep(*row, is_of_task ? std::make_shared<const Context>(run_of(*change.after)) : change.after);
        changed(*row);
      }
      return;
    }
    case EventKind::kFileUse: return used(*event.get_if<FileUse>());
    case EventKind::kConnection: return used(*event.get_if<Connection>());
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
  const TasksBelow::Over& ended = row.tasks->over();
  std::optional<PeakBounds> largest = ended.largest;
  // Something of it is in no task.
  if (row.sums.row.first_start_ns != 0 || !row.living.empty())
    largest = larger_of(largest.value_or(PeakBounds{0, 0, 0}), sums.memory.peak());
  std::optional<TaskLedger> ledger = row.sums.row.task_ledger;
  add_row(sums.row, ended.sums.row);
  for (const StateRow* const task : row.tasks->open()) {
    RowSums of_task = task->sums;
    add_what_lives(of_task, *task);
    add_row(sums.row, of_task.row);
    if (!task->living.empty() || !task->folded.empty()) sums.memory.peak_unknown();
    if (has_begun(of_task.row)) largest = larger(largest, of_task.memory.peak());
  }
  SummaryRow made = shown(sums, whole);
  made.task = *row.context;
  if (row.level == SummaryLevel::kStep) {
    if (largest && !whole) largest->at_most_bytes.reset();
    if (largest) set_peak(made, *largest);
    return made;
  }
  // All of a run may be one task, and the run no event.
  if (!ledger && row.tasks->size() == 1 && row.sums.row.processes == 0) ledger = made.task_ledger;
  made.task_ledger = ledger;
  return made;
}

StateRows::Rows StateRows::changed_since(std::uint64_t since) {
  Rows rows;
  for (auto each = by_version_.rbegin(); each != by_version_.rend() && (*each)->version > since; ++each)
    rows.push_back(*each);
  return rows;
}

std::vector<const LivingRow*> StateRows::living_in(const StateRow& row) const {
  std::vector<const LivingRow*> all;
  for (const std::uint32_t pid : row.living) all.push_back(&living_.at(pid));
  std::sort(all.begin(), all.end(), [](const auto* one, const auto* other) { return one->begin_ns < other->begin_ns; });
  return all;
}

}  // namespace tracer::internal
