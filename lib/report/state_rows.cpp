// SPDX-License-Identifier: Apache-2.0
#include "report/state_rows.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "context/layers.hpp"

namespace tracer::internal {
namespace {

std::uint64_t number_of(ScopeId id) { return static_cast<std::uint64_t>(id); }

/// Whether a row of the three levels is one of these: a run has all, a task only its own.
bool is_task(const StateRow& row) { return row.level == SummaryLevel::kTask; }

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
  row.version = ++versions_;
  by_version_.splice(by_version_.end(), by_version_, row.place);
}

StateRow* StateRows::scope_row(const Context& context, bool is_run) {
  const Book::ScopePtr scope = book_.make(context, is_run);
  if (!scope) return nullptr;
  const auto [at, fresh] = scopes_.try_emplace(scope->id);
  StateRow& row = at->second;
  if (fresh) {
    row.level = is_run ? SummaryLevel::kRun : SummaryLevel::kTask;
    row.scope = scope;
    row.context = std::make_shared<const Context>(is_run ? run_of(context) : context);
    row.place = by_version_.insert(by_version_.end(), &row);
    if (is_run) ++runs_;
    if (touch_all_) touch(row);
    changed(row);
  }
  return &row;
}

StateRow* StateRows::step_row(ScopeId run, const std::string& step) {
  const auto known = steps_.find({run, step});
  if (known != steps_.end()) return &known->second;
  if (steps_.size() >= kMostSteps) {
    ++dropped;
    return nullptr;
  }
  StateRow& row = steps_[{run, step}];
  row.level = SummaryLevel::kStep;
  row.scope = book_.find(run);
  row.step = step;
  row.run = run;
  Context context = *scopes_.at(run).context;
  context.step = step;
  row.context = std::make_shared<const Context>(std::move(context));
  row.place = by_version_.insert(by_version_.end(), &row);
  changed(row);
  return &row;
}

/// It may be in another run or step by now.
void StateRows::place(StateRow& task, const Context& context) {
  StateRow* const run = scope_row(context, true);
  const ScopeId run_id = run == nullptr ? ScopeId::kNone : run->scope->id;
  const std::string step = run == nullptr ? "" : context.step.value_or("");
  const bool is_new = run != nullptr && !run->tasks.contains(task.scope->id);
  if (task.run == run_id && task.step == step && !is_new) return;
  for (StateRow* const before : {find(SummaryLevel::kStep, task.run, task.step), find(SummaryLevel::kRun, task.run)})
    if (before != nullptr && before->tasks.erase(task.scope->id) != 0) add_up(*before);
  task.run = run_id;
  task.step = step;
  if (run == nullptr) return;
  StateRow* const of_step = step.empty() ? nullptr : step_row(run_id, step);
  for (StateRow* const now : {run, of_step}) {
    if (now == nullptr) continue;
    now->tasks.insert(task.scope->id);
    add_up(*now);
  }
}

void StateRows::add_up(StateRow& row) {
  SummaryRow sums;
  sums.task_ledger = row.level == SummaryLevel::kRun ? row.sums.row.task_ledger : std::nullopt;
  const auto ledger = sums.task_ledger;
  if (row.direct) add_row(sums, row.direct->row);
  for (const ScopeId task : row.tasks) add_row(sums, scopes_.at(task).sums.row);
  sums.task_ledger = ledger;
  row.sums.row = std::move(sums);
  changed(row);
}

StateRows::Rows StateRows::rows_of(const Context& context) {
  Rows rows;
  StateRow* const task = context.task_key ? scope_row(context, false) : nullptr;
  if (task != nullptr) {
    place(*task, context);
    rows.push_back(task);
  }
  StateRow* const run = context.run_key ? scope_row(context, true) : nullptr;
  if (run == nullptr) return rows;
  if (context.step)
    if (StateRow* const step = step_row(run->scope->id, *context.step)) rows.push_back(step);
  rows.push_back(run);
  return rows;
}

template <class Visit>
void StateRows::each_sums(const Rows& rows, const Visit& visit) {
  const bool is_direct = !rows.empty() && !is_task(*rows.front());
  for (StateRow* const row : rows) {
    visit(row->sums);
    changed(*row);
    if (!is_direct) continue;
    if (!row->direct) row->direct = std::make_unique<RowSums>();
    visit(*row->direct);
  }
}

void StateRows::touch(StateRow& row) const {
  if (row.touched) return;
  row.touched = std::make_unique<Touched>();
  row.touched_since_ns = last_ns;
}

void StateRows::drop(StateRow& row) {
  std::erase_if(in_snapshot_, [&row](const GroupMemory* each) {
    return each == &row.sums.memory || (row.direct && each == &row.direct->memory);
  });
  with_folded_.erase(&row);
  for (const std::uint32_t pid : row.living) std::erase(places_[pid], &row);
  by_version_.erase(row.place);
  gone_.emplace_back(++versions_, id_of(row));
  if (gone_.size() > kMostGone) {
    forgot_gone_at_ = gone_.front().first;
    gone_.pop_front();
  }
  if (row.level == SummaryLevel::kStep) {
    steps_.erase({row.scope->id, row.step});
    return;
  }
  const ScopeId id = row.scope->id;
  for (StateRow* const above : {find(SummaryLevel::kStep, row.run, row.step), find(SummaryLevel::kRun, row.run)})
    if (is_task(row) && above != nullptr && above->tasks.erase(id) != 0) {
      // What it was stays in their sums.
      if (!above->direct) above->direct = std::make_unique<RowSums>();
      add_sums(*above->direct, row.sums);
    }
  if (row.level == SummaryLevel::kRun) --runs_;
  scopes_.erase(id);
}

/// Two turn out to be one.
void StateRows::merge(StateRow& from, StateRow& into) {
  add_sums(into.sums, from.sums);
  if (from.direct) {
    if (!into.direct) into.direct = std::make_unique<RowSums>();
    add_sums(*into.direct, *from.direct);
  }
  for (const std::uint32_t pid : from.living) {
    std::replace(places_[pid].begin(), places_[pid].end(), &from, &into);
    into.living.insert(pid);
  }
  from.living.clear();
  for (const ScopeId id : from.tasks) {
    StateRow& task = scopes_.at(id);
    task.run = into.scope->id;
    into.tasks.insert(id);
  }
  from.tasks.clear();
  changed(into);
}

void StateRows::gone(ScopeId id, ScopeId into) {
  const auto known = scopes_.find(id);
  if (known == scopes_.end()) return;
  StateRow& row = known->second;
  const auto other = scopes_.find(into);
  if (into == ScopeId::kNone) {
    ++dropped;
  } else if (other != scopes_.end() && other->second.level == row.level) {
    for (StateRow* const above : {find(SummaryLevel::kStep, row.run, row.step), find(SummaryLevel::kRun, row.run)})
      if (is_task(row) && above != nullptr) above->tasks.erase(id);
    if (row.level == SummaryLevel::kRun)
      for (auto each = steps_.lower_bound({id, ""}); each != steps_.end() && each->first.first == id;) {
        StateRow& step = (each++)->second;
        if (StateRow* const now = step_row(into, step.step)) merge(step, *now);
        drop(step);
      }
    merge(row, other->second);
  }
  if (row.level == SummaryLevel::kRun)
    for (auto each = steps_.lower_bound({id, ""}); each != steps_.end() && each->first.first == id;)
      drop((each++)->second);
  drop(row);
}

template <class Start>
void StateRows::began(const Start& start, bool is_run) {
  StateRow* const row = scope_row(*start.context, is_run);
  if (row == nullptr) return;
  row->finished = false;
  row->context = start.context;
  if (!is_run) place(*row, *start.context);
  changed(*row);
}

template <class Finish>
void StateRows::finished(const Finish& finish, bool is_run) {
  StateRow* const row = scope_row(*finish.context, is_run);
  if (row == nullptr) return;
  row->finished = true;
  row->context = finish.context;
  if (finish.task_ledger) row->sums.row.task_ledger = finish.task_ledger;
  changed(*row);
}

void StateRows::execed(const ProcessExec& exec) {
  ended_programs_.saw(exec);
  // Of a command that was held, nothing had begun.
  if (!exec.ended.start_ns) return;
  const bool is_copy = exec.ended.start_ns == exec.process->start_ns;
  each_sums(rows_of(*exec.process->context), [&](RowSums& sums) { add_to(sums, exec.ended, !is_copy); });
}

void StateRows::exited(const ProcessExit& exit) {
  ++processes;
  leave(exit.process->pid);
  ended_programs_.saw(exit);
  const Rows rows = rows_of(*exit.process->context);
  each_sums(rows, [&](RowSums& sums) {
    add_to(sums, exit.program, true);
    count_end(sums.row, exit);
  });
  const std::uint64_t cpu_ns = least_cpu_ns(exit.account).value_or(0);
  if (rows.empty() || exit.process->context->engine_own || (!rows.front()->tool.empty() && cpu_ns <= rows.front()->tool_cpu_ns))
    return;
  rows.front()->tool_cpu_ns = cpu_ns;
  rows.front()->tool = exit.process->program->tool.value_or("");
}

void StateRows::leave(std::uint32_t pid) {
  if (living_.erase(pid) == 0) return;
  const auto places = places_.extract(pid);
  if (places.empty()) return;
  for (StateRow* const row : places.mapped()) {
    row->living.erase(pid);
    changed(*row);
  }
}

template <class Sample>
void StateRows::add_memory(const Rows& rows, const Sample& sample) {
  for (StateRow* const row : rows) {
    if (row->level == SummaryLevel::kStep && is_task(*rows.front())) continue;
    if (row->level == SummaryLevel::kStep && !row->direct) row->direct = std::make_unique<RowSums>();
    GroupMemory& memory = row->level == SummaryLevel::kStep ? row->direct->memory : row->sums.memory;
    if (!memory.in_snapshot()) in_snapshot_.push_back(&memory);
    memory.add(sample);
  }
}

void StateRows::sampled(const ProcessSample& sample) {
  const std::uint32_t pid = sample.process->pid;
  const Rows rows = rows_of(*sample.process->context);
  const auto known = places_.find(pid);
  if (known != places_.end() &&
      (known->second != rows || living_.at(pid).sample.process->start_ns != sample.process->start_ns))
    leave(pid);
  living_.insert_or_assign(pid, LivingRow{sample, ended_programs_.living(sample),
                                          ended_programs_.begin_of(*sample.process), snapshot_});
  for (StateRow* const row : rows) {
    row->living.insert(pid);
    changed(*row);
  }
  places_.insert_or_assign(pid, rows);
  add_memory(rows, sample);
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
    for (StateRow* const row : rows_of(*sample.context)) {
      row->folded.push_back(sample);
      with_folded_.insert(row);
      changed(*row);
    }
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
  each_sums(rows_of(*failure.process->context), [&](RowSums& sums) { count_failure(sums.row, failure); });
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
      return add_memory(rows_of(*sample.context), sample);
    }
    case EventKind::kSnapshotEnd: return end_snapshot();
    case EventKind::kOwnWork: {
      const auto& work = *event.get_if<OwnWork>();
      return each_sums(rows_of(*work.process->context),
                       [&](RowSums& sums) { add_own_work(sums, work, OwnParts::kOfTask); });
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
        if (!is_run) place(known->second, *change.after);
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

SummaryRow StateRows::sums_of(StateRow& row, bool whole) {
  RowSums sums = row.sums;
  for (const std::uint32_t pid : row.living) {
    const LivingRow& each = living_.at(pid);
    add_living(sums, each.program);
    count_living(sums.row);
  }
  for (const ToolSample& sample : row.folded) add_folded(sums, sample, program_of(sample));
  SummaryRow made = shown(sums, whole);
  made.task = *row.context;
  if (row.level == SummaryLevel::kRun && !made.task_ledger && row.tasks.size() == 1) {
    const SummaryRow& task = scopes_.at(*row.tasks.begin()).sums.row;
    if (task.processes == row.sums.row.processes) made.task_ledger = task.task_ledger;
  }
  if (row.level != SummaryLevel::kStep) return made;
  // The memory of a step is that of its largest task.
  made.task_ledger.reset();
  std::optional<PeakBounds> peak;
  if (row.direct) peak = row.direct->memory.peak();
  for (const ScopeId id : row.tasks) {
    const StateRow& task = scopes_.at(id);
    const PeakBounds other = task.sums.memory.peak();
    peak = peak ? larger_of(*peak, other) : other;
    add_task_ledger(made, task.sums.row.task_ledger);
  }
  if (peak && !whole) peak->at_most_bytes.reset();
  if (peak) set_peak(made, *peak);
  return made;
}

std::vector<StateRow*> StateRows::changed_since(std::uint64_t since) {
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
