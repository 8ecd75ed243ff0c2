// SPDX-License-Identifier: Apache-2.0
#include "report/sums/sums.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/tool_name.hpp"
#include "context/layers.hpp"

namespace tracer::internal {
namespace {

/// Each time takes a look at all that is told apart.
constexpr std::size_t kFoldedAtOnce = 256;

/// In order of their first start.
void sort_by_start(std::vector<SummaryRow>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first_start_ns < b.first_start_ns; });
}

/// What a sample is counted as.
ProgramAccount program_of(const Process& process) {
  ProgramAccount program;
  program.program = process.program;
  program.engine_own = process.context->engine_own;
  return program;
}

}  // namespace

RowSums& Sums::tool_row(const std::string& name) {
  const bool fits = tools_.size() < Summary::kMostTools || tools_.contains(name);
  return tools_[fits ? name : kOthers];
}

/// The total, and the row of the task that these labels belong to. Their identity is returned.
template <class Visit>
const Context& Sums::for_each_whole(const std::shared_ptr<const Context>& context, Visit visit) {
  visit(total_, false);
  const Context& identity = identities_.of(context);
  if (identity != Context{}) visit(tasks_[identity], false);
  return identity;
}

/// All rows that a program in this context belongs to, and whether they are of its tool.
template <class Visit>
void Sums::for_each_row(const std::shared_ptr<const Context>& context, const ProgramAccount& program, Visit visit) {
  visit(tool_row(counted_as(*context, program)), true);
  tree_.visit(for_each_whole(context, visit), context, program, visit);
}

void Sums::add_program(const std::shared_ptr<const Context>& context, const ProgramAccount& program,
                       bool peak_matters) {
  for_each_row(context, program, [&](RowSums& sums, bool) { add_to(sums, program, peak_matters); });
}

void Sums::ended(const ProcessExec& exec) {
  // Of a command that was held, nothing had begun.
  if (!exec.ended.start_ns) return;
  // Nobody asks for the peak of a mere copy of the parent, before its first exec; nor is it one that runs this tool.
  const bool is_copy = exec.ended.start_ns == exec.process->start_ns;
  add_program(exec.process->context, exec.ended, !is_copy);
  // A program that executes the same in its own place, such as a launcher, is no further process of it.
  const Context& context = *exec.process->context;
  if (is_copy || counted_as(context, exec.ended) == counted_as(context, program_of(*exec.process))) return;
  for_each_row(exec.process->context, exec.ended, [](RowSums& sums, bool is_tool) {
    if (is_tool) ++sums.row.processes;
  });
}

void Sums::ended(const ProcessExit& exit) {
  add_program(exit.process->context, exit.program, true);
  for_each_row(exit.process->context, exit.program, [&](RowSums& sums, bool) { count_end(sums.row, exit); });
  const std::uint64_t cpu_ns = least_cpu_ns(exit.account).value_or(0);
  if (!is_among_largest(cpu_ns)) return;
  RowSums own;
  own.row.name = known_tool(*exit.process->program).value_or(kNoTool);
  own.row.task = identities_.of(exit.process->context);
  own.row.process = exit.process;
  add_to(own, {std::max(exit.start_ns, exit.begin_ns), exit.end_ns, exit.process->program, exit.account}, true);
  count_end(own.row, exit);
  add_to_largest(cpu_ns, {exit.process->pid, exit.start_ns, shown(own, true)});
}

void Sums::joined(const ProcessExit& exit, const JoinedPrograms& joined) {
  const auto& context = exit.process->context;
  for (const auto& [in, program] : joined.programs)
    if (in != context && identities_.of(in) != identities_.of(context)) return;
  const std::size_t count = joined.programs.size();
  for (std::size_t i = 0; i < count; ++i)
    for_each_row(context, joined.programs[i].second, [&](RowSums& sums, bool is_tool) {
      if (is_tool) settle_cpu(sums.row, 1, joined.cpu_ns, count == 1);
      if (!is_tool && i == 0) settle_cpu(sums.row, count, joined.cpu_ns, true);
    });
}

void Sums::failed(const FailureOrigin& failure) {
  const Process& process = *failure.process;
  ProgramAccount program;
  program.program = process.program;
  for_each_row(process.context, program, [&](RowSums& sums, bool) { count_failure(sums.row, failure); });
  for (auto& [cpu_ns, one] : largest_)
    if (one.pid == process.pid && one.start_ns == process.start_ns) count_failure(one.row, failure);
}

void Sums::lives(const ProcessSample& sample, const ProgramAccount& program, std::uint64_t begin_ns) {
  for_each_row(sample.process->context, program, [&](RowSums& sums, bool) {
    add_living(sums, program);
    count_living(sums.row);
  });
  const std::uint64_t cpu_ns = sample.account.cpu_ns.value_or(0);
  if (!is_among_largest(cpu_ns)) return;
  RowSums own;
  own.row.name = known_tool(*sample.process->program).value_or(kNoTool);
  own.row.task = identities_.of(sample.process->context);
  own.row.process = sample.process;
  add_living(own, {begin_ns, sample.time_ns, sample.process->program, sample.account});
  count_living(own.row);
  own.memory.add(sample);
  add_to_largest(cpu_ns, {sample.process->pid, sample.process->start_ns, shown(own, true)});
}

void Sums::live(const ToolSample& sample) {
  const ProgramAccount program = program_of(sample);
  for_each_row(sample.context, program, [&](RowSums& sums, bool) { add_folded(sums, sample, program); });
}

template <class Sample>
void Sums::add_memory(const Sample& sample, const std::shared_ptr<const Context>& context,
                      const ProgramAccount* program, std::vector<GroupMemory*>& in_snapshot) {
  const auto add = [&](GroupMemory& memory) {
    if (!memory.in_snapshot()) in_snapshot.push_back(&memory);
    memory.add(sample);
  };
  add(total_.memory);
  if (program != nullptr) add(tool_row(counted_as(*context, *program)).memory);
  const Context& identity = identities_.of(context);
  if (identity != Context{}) add(tasks_[identity].memory);
  tree_.visit_memory(identity, context, program, add);
}

void Sums::holds(const ProcessSample& sample, bool own, std::vector<GroupMemory*>& in_snapshot) {
  const ProgramAccount program = program_of(*sample.process);
  add_memory(sample, sample.process->context, own ? nullptr : &program, in_snapshot);
}

void Sums::hold(const ToolSample& sample, std::vector<GroupMemory*>& in_snapshot) {
  const ProgramAccount program = program_of(sample);
  add_memory(sample, sample.context, &program, in_snapshot);
}

void Sums::counts_apart(const Process& process) {
  const std::string name = counted_as(*process.context, program_of(process));
  for (const std::string& each : {name, std::string(kOthers)})
    if (const auto row = tools_.find(each); row != tools_.end()) row->second.memory.forget_snapshots();
  tree_.visit_tools(name, [](GroupMemory& memory) { memory.forget_snapshots(); });
}

void Sums::worked(const OwnWork& work) {
  const auto add = [&](RowSums& sums, bool is_tool) {
    add_own_work(sums, work, is_tool ? OwnParts::kOwnRow : &sums == &total_ ? OwnParts::kOfAll : OwnParts::kOfTask);
  };
  add(tool_row(counted_as(work)), true);
  tree_.visit(for_each_whole(work.process->context, add), work, add);
}

void Sums::request(const std::shared_ptr<const Context>& task, const Requested& requested) {
  tree_.request(identities_.of(task), task, requested);
}

void Sums::spent(const std::shared_ptr<const Context>& context, SummaryLevel level, const TaskLedger& ledger,
                 const std::vector<AwaitedTask>& waits_for) {
  const Context& identity = identities_.of(context);
  tree_.spend(identity, context, level, ledger, waits_for);
  if (level != SummaryLevel::kTask || identity.task == kOtherTasks) return;
  const auto task = tasks_.find(identity);
  if (task == tasks_.end()) return;
  task->second.row.task_ledger = ledger;
  task->second.row.waits_for = waits_for;
}

void Sums::changed(const ContextChange& change) {
  if (change.pid) return;
  const Context before = identities_.of(change.before);
  const Context after = identities_.of(change.after);
  if (before == after || !is_task(before) || !is_task(after) || before.task == kOtherTasks || after.task == kOtherTasks)
    return;
  identities_.forget(before);
  if (auto task = tasks_.contains(after) ? decltype(tasks_)::node_type() : tasks_.extract(before)) {
    task.key() = after;
    tasks_.insert(std::move(task));
  }
  tree_.rename(before, after, change.after);
}

void Sums::run_finished(const Context& run) {
  const std::string key = run_key(run);
  if (const auto before = finished_at_.find(key); before != finished_at_.end()) finished_.erase(before->second);
  finished_at_[key] = ++runs_finished_;
  finished_.emplace(runs_finished_, key);
}

void Sums::fold_finished_runs() {
  if (!identities_.wants_room()) return;
  // The one that was the last to finish is what everybody asks about.
  while (finished_.size() > 1 && !identities_.has_room()) {
    std::set<std::string> keys;
    while (finished_.size() > 1 && keys.size() < kFoldedAtOnce) {
      const auto oldest = finished_.begin();
      finished_at_.erase(oldest->second);
      keys.insert(std::move(oldest->second));
      finished_.erase(oldest);
    }
    identities_.forget_runs(keys);
    std::vector<std::map<Context, RowSums>::node_type> folded;
    for (auto each = tasks_.begin(); each != tasks_.end();)
      if (keys.contains(run_key((each++)->first))) folded.push_back(tasks_.extract(std::prev(each)));
    for (const auto& task : folded) add_sums(tasks_[identities_.earlier(task.key())], task.mapped());
    tree_.fold_runs(keys);
  }
}

bool Sums::is_among_largest(std::uint64_t cpu_ns) const {
  return largest_.size() < Summary::kMostProcesses || cpu_ns > largest_.begin()->first;
}

void Sums::add_to_largest(std::uint64_t cpu_ns, OneProcess process) {
  largest_.emplace(cpu_ns, std::move(process));
  if (largest_.size() > Summary::kMostProcesses) largest_.erase(largest_.begin());
}

std::vector<SummaryRow> Sums::largest_processes() const {
  std::vector<SummaryRow> rows;
  for (auto each = largest_.rbegin(); each != largest_.rend(); ++each) rows.push_back(each->second.row);
  return rows;
}

std::vector<SummaryRow> Sums::by_tool(bool whole) const {
  std::vector<SummaryRow> rows;
  for (const auto& [name, sums] : tools_) {
    rows.push_back(shown(sums, whole));
    rows.back().name = name;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.cpu_ns > b.cpu_ns; });
  return rows;
}

/// Of the tasks, and what is in none of them, that this field of the context names. The memory is that of the largest.
template <class Counts>
std::vector<SummaryRow> Sums::by(std::optional<std::string> Context::*field, bool whole, const Counts& counts) const {
  std::map<std::string, SummaryRow> sums;
  std::map<std::string, PeakBounds> peaks;
  for (const auto& [task, each] : tasks_) {
    const std::optional<std::string>& name = task.*field;
    if (!name || !counts(task)) continue;
    add_row(sums[*name], each.row);
    const PeakBounds peak = peak_of(shown(each, whole));
    const auto [at, fresh] = peaks.try_emplace(*name, peak);
    if (!fresh) at->second = larger_of(at->second, peak);
  }
  std::vector<SummaryRow> rows;
  for (const auto& [name, row] : sums) {
    rows.push_back(spanned(row));
    rows.back().name = name;
    set_peak(rows.back(), peaks[name]);
  }
  sort_by_start(rows);
  return rows;
}

std::vector<SummaryRow> Sums::by_step(bool whole, const TasksCount& count) const {
  return by(&Context::step, whole, [&](const Context& task) { return count(task.run_key); });
}

std::vector<SummaryRow> Sums::by_task(bool whole, const TasksCount& count) const {
  std::vector<SummaryRow> rows;
  for (const auto& [task, sums] : tasks_) {
    if (is_task(task) && !count(task.run_key)) continue;
    rows.push_back(shown(sums, whole));
    rows.back().task = task;
    rows.back().name = task.step.value_or("");
  }
  sort_by_start(rows);
  return rows;
}

std::vector<SummaryRow> Sums::by_sample(bool whole) const {
  return by(&Context::sample, whole, [](const Context&) { return true; });
}

SummaryRow Sums::total(bool whole) const {
  SummaryRow row = shown(total_, whole);
  row.name = "total";
  return row;
}

}  // namespace tracer::internal
