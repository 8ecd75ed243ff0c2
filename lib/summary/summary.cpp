// SPDX-License-Identifier: Apache-2.0
#include <tracer/summary.hpp>

#include <algorithm>
#include <set>
#include <utility>

#include <tracer/families.hpp>

#include "base/sums.hpp"
#include "correlate/account.hpp"
#include "context/failure_chains.hpp"
#include "summary/cgroup_peaks.hpp"
#include "summary/failures.hpp"
#include "summary/identities.hpp"
#include "summary/memory_rounds.hpp"
#include "summary/pipe_graph.hpp"
#include "summary/rows.hpp"
#include "summary/task_tree.hpp"

namespace tracer {
namespace {

bool all_ended(const SessionEnd& end) { return end.processes_started == end.processes_ended; }

/// In order of their first start; `describe` says what else belongs into the row of a key.
template <class Key, class Describe>
std::vector<SummaryRow> rows_by_start(const std::map<Key, SummaryRow>& sums, Describe describe) {
  std::vector<SummaryRow> rows;
  for (const auto& [key, row] : sums) {
    rows.push_back(internal::spanned(row));
    describe(rows.back(), key);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first_start_ns < b.first_start_ns; });
  return rows;
}

}  // namespace

class Summary::Impl {
 public:
  void add(const Event& event);
  std::vector<SummaryRow> by_tool() const;
  std::vector<SummaryRow> by_step() const;
  std::vector<SummaryRow> by_task() const;
  std::vector<SummaryRow> by_sample() const;
  std::vector<SummaryNode> tree() const;
  std::vector<SummaryRow> largest_processes() const;
  SummaryRow total() const;
  std::vector<ProcessSample> survivors() const;

  internal::PipeGraph pipes;
  internal::CgroupPeaks cgroups;
  internal::Failures failures;
  Excused excused;
  std::uint64_t exits = 0;
  std::map<std::string, std::uint64_t> losses;
  std::optional<SessionEnd> end;

 private:
  template <class Visit>
  void for_each_whole(const std::shared_ptr<const Context>& context, Visit visit);
  void add_program(const Process& process, const ProgramAccount& program, bool peak_matters);
  void add_exit(const ProcessExit& exit);
  void decide(const internal::FailureOrigin& failure, internal::Verdict verdict);
  void add_failure(const internal::FailureOrigin& failure);
  void add_own_work(const OwnWork& work);
  void begin_snapshot(std::uint64_t time_ns);
  void set_task_peak(SummaryRow& row, const internal::MemoryPeak& peak) const;
  bool snapshots_were_taken() const;
  void add_to_largest(const ProcessExit& exit);
  SummaryRow& tool_row(const std::string& name);

  std::set<std::pair<std::uint32_t, std::uint64_t>> own_processes_;  ///< Whose work was reported: pid and start.

  std::map<std::string, SummaryRow> tools_;
  std::map<std::string, SummaryRow> steps_;
  std::map<Context, SummaryRow> tasks_;
  SummaryRow total_;
  internal::TaskTree tree_;
  struct OneProcess {
    std::uint32_t pid;
    std::uint64_t start_ns;
    SummaryRow row;
  };
  std::multimap<std::uint64_t, OneProcess> largest_;  ///< By CPU time.
  internal::FailureChains chains_{[this](const auto& failure, auto verdict) { decide(failure, verdict); }};
  internal::Identities identities_;
  std::map<std::uint32_t, ProcessSample> living_;  ///< By pid; of the last snapshot.
  std::uint64_t snapshot_ns_ = 0;
  internal::MemoryRounds memory_;
};

/// The total, and the rows by step and task that these labels belong to.
template <class Visit>
void Summary::Impl::for_each_whole(const std::shared_ptr<const Context>& context, Visit visit) {
  visit(total_);
  const Context& identity = identities_.of(context);
  if (identity.step) visit(steps_[*identity.step]);
  if (identity != Context{}) visit(tasks_[identity]);
}

SummaryRow& Summary::Impl::tool_row(const std::string& name) {
  const bool fits = tools_.size() < kMostTools || tools_.contains(name);
  return tools_[fits ? name : internal::kOthers];
}

void Summary::Impl::add_to_largest(const ProcessExit& exit) {
  const std::uint64_t cpu_ns = exit.account.cpu_ns.value_or(0);
  if (largest_.size() >= kMostProcesses && cpu_ns <= largest_.begin()->first) return;
  SummaryRow row;
  row.name = exit.process->program->tool.value_or(internal::kNoTool);
  row.task = identities_.of(exit.process->context);
  row.process = exit.process;
  internal::add_with_wall(row, {exit.start_ns, exit.end_ns, exit.process->program, exit.account}, true);
  internal::count_process(row, exit);
  largest_.emplace(cpu_ns, OneProcess{exit.process->pid, exit.start_ns, std::move(row)});
  if (largest_.size() > kMostProcesses) largest_.erase(largest_.begin());
}

std::vector<SummaryRow> Summary::Impl::largest_processes() const {
  std::vector<SummaryRow> rows;
  for (auto each = largest_.rbegin(); each != largest_.rend(); ++each) rows.push_back(each->second.row);
  return rows;
}

std::vector<SummaryNode> Summary::Impl::tree() const {
  return tree_.nodes([this](SummaryNode& node) {
    const Context& identity = node.row.task;
    const bool is_run = node.level == SummaryLevel::kRun;
    set_task_peak(node.row, is_run ? memory_.peak_of_run(identity) : memory_.peak_of_task(identity));
  });
}

void Summary::Impl::add_program(const Process& process, const ProgramAccount& program, bool peak_matters) {
  internal::add_with_wall(tool_row(internal::counted_as(*process.context, program)), program, peak_matters);
  for_each_whole(process.context, [&](SummaryRow& row) { internal::add_to(row, program, peak_matters); });
  tree_.add(identities_.of(process.context), process, program, peak_matters);
}

void Summary::Impl::add_exit(const ProcessExit& exit) {
  ++exits;
  living_.erase(exit.process->pid);
  if (!exit.process->context->engine_own) pipes.ended(exit);
  add_program(*exit.process, exit.program, true);
  const bool own = exit.process->context->engine_own;
  const auto count = [&](SummaryRow& row) { internal::count_process(row, exit); };
  count(tool_row(internal::counted_as(*exit.process->context, exit.program)));
  for_each_whole(exit.process->context, count);
  tree_.count(identities_.of(exit.process->context), exit);
  add_to_largest(exit);
  chains_.ended(exit, own);
}

void Summary::Impl::add_failure(const internal::FailureOrigin& failure) {
  const Process& process = *failure.process;
  const auto count = [&](SummaryRow& row) { internal::count_failure(row, failure); };
  count(tool_row(process.program->tool.value_or(internal::kNoTool)));
  for_each_whole(process.context, count);
  tree_.count(identities_.of(process.context), failure);
  for (auto& [cpu_ns, one] : largest_)
    if (one.pid == process.pid && one.start_ns == process.start_ns) count(one.row);
  failures.add(failure);
}

void Summary::Impl::decide(const internal::FailureOrigin& failure, internal::Verdict verdict) {
  switch (verdict) {
    case internal::Verdict::kFailed: add_failure(failure); break;
    case internal::Verdict::kPassedOn:
    case internal::Verdict::kIgnored: failures.resolve(failure, verdict); break;
    case internal::Verdict::kReaderHadEnough: ++excused.reader_had_enough; break;
    case internal::Verdict::kEndedByItsStarter: ++excused.ended_by_starter; break;
  }
}

void Summary::Impl::add_own_work(const OwnWork& work) {
  SummaryRow& tool = tool_row(internal::counted_as(work));
  internal::add_own_work(tool, work, internal::OwnParts::kOwnRow);
  tool.wall_ns += work.time_ns - std::min(work.begin_ns, work.time_ns);
  for_each_whole(work.process->context, [&](SummaryRow& row) {
    internal::add_own_work(row, work, &row == &total_ ? internal::OwnParts::kOfAll : internal::OwnParts::kOfTask);
  });
  tree_.add(identities_.of(work.process->context), work);
  own_processes_.insert({work.process->pid, work.process->start_ns});
}

void Summary::Impl::add(const Event& event) {
  if (const auto* start = event.get_if<ProcessStart>()) {
    chains_.saw(start->process);
  } else if (const auto* exec = event.get_if<ProcessExec>()) {
    chains_.saw(exec->process);
    if (!exec->process->context->engine_own) pipes.saw(*exec->process);
    // Nobody asks for the peak of a mere copy of the parent, before its first exec.
    add_program(*exec->process, exec->ended, exec->ended.start_ns != exec->process->start_ns);
  } else if (const auto* exit = event.get_if<ProcessExit>()) {
    add_exit(*exit);
  } else if (const auto* sample = event.get_if<ProcessSample>()) {
    begin_snapshot(sample->time_ns);
    living_.insert_or_assign(sample->process->pid, *sample);
    memory_.add(*sample, identities_.of(sample->process->context));
  } else if (const auto* folded = event.get_if<ToolSample>()) {
    begin_snapshot(folded->time_ns);
    memory_.add(*folded, identities_.of(folded->context));
  } else if (const auto* run = event.get_if<RunStart>()) {
    chains_.leads(run->pid, run->start_ns);
  } else if (const auto* work = event.get_if<OwnWork>()) {
    add_own_work(*work);
  } else if (const auto* task = event.get_if<TaskStart>()) {
    chains_.leads(task->pid, task->start_ns);
    tree_.request(identities_.of(task->context), task->context, task->requested);
  } else if (const auto* finish = event.get_if<TaskFinish>()) {
    tree_.request(identities_.of(finish->context), finish->context, finish->requested);
  } else if (const auto* cgroup = event.get_if<CgroupSample>()) {
    cgroups.add(*cgroup);
  } else if (const auto* whole = event.get_if<SnapshotEnd>()) {
    begin_snapshot(whole->time_ns);
  } else if (const auto* loss = event.get_if<Loss>()) {
    losses[loss->cause] += loss->count;
  } else if (const auto* last = event.get_if<SessionEnd>()) {
    end = *last;
    chains_.finish(last->time_ns);
    if (all_ended(*last)) living_.clear();
  }
}

/// Each snapshot names all that live: who is not in it has ended, even if that was lost.
void Summary::Impl::begin_snapshot(std::uint64_t time_ns) {
  if (snapshot_ns_ == time_ns) return;
  snapshot_ns_ = time_ns;
  living_.clear();
}

std::vector<ProcessSample> Summary::Impl::survivors() const {
  std::vector<ProcessSample> all;
  // What the session's own process did so far has a row.
  for (const auto& [pid, sample] : living_)
    if (!own_processes_.contains({pid, sample.process->start_ns})) all.push_back(sample);
  return all;
}

std::vector<SummaryRow> Summary::Impl::by_tool() const {
  std::vector<SummaryRow> rows;
  for (const auto& [name, row] : tools_) {
    rows.push_back(row);
    rows.back().name = name;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.cpu_ns > b.cpu_ns; });
  return rows;
}

std::vector<SummaryRow> Summary::Impl::by_step() const {
  const auto peaks = memory_.peaks_of_steps();
  return rows_by_start(steps_, [&](SummaryRow& row, const std::string& step) {
    row.name = step;
    const auto peak = peaks.find(step);
    set_task_peak(row, peak == peaks.end() ? internal::MemoryPeak{} : peak->second);
  });
}

std::vector<SummaryRow> Summary::Impl::by_task() const {
  return rows_by_start(tasks_, [this](SummaryRow& row, const Context& task) {
    row.task = task;
    row.name = task.step.value_or("");
    set_task_peak(row, memory_.peak_of_task(task));
  });
}

/// Of tasks alone: what has a sample label is one, or lies in one.
std::vector<SummaryRow> Summary::Impl::by_sample() const {
  std::map<std::string, SummaryRow> sums;
  std::map<std::string, internal::MemoryPeak> peaks;
  for (const auto& [task, row] : tasks_) {
    if (!task.sample) continue;
    internal::add_row(sums[*task.sample], row);
    const internal::MemoryPeak peak = memory_.peak_of_task(task);
    internal::MemoryPeak& largest = peaks[*task.sample];
    largest.bytes = std::max(largest.bytes, peak.bytes);
    largest.unknown_snapshots += peak.unknown_snapshots;
  }
  return rows_by_start(sums, [&](SummaryRow& row, const std::string& sample) {
    row.name = sample;
    set_task_peak(row, peaks[sample]);
  });
}

/// At least what its largest process held, as snapshots may have missed it; of one process alone that is all.
void Summary::Impl::set_task_peak(SummaryRow& row, const internal::MemoryPeak& peak) const {
  row.unknown_snapshots = peak.unknown_snapshots;
  const bool all_seen = end && all_ended(*end) && losses.empty();
  const bool alone =
      all_seen && row.processes == 1 && row.own_parts == 0 && row.peak_rss_bytes && row.unknown_peaks == 0;
  if (alone) row.unknown_snapshots = 0;
  if (peak.bytes == 0 && !alone) return;
  row.task_peak_bytes = std::max(peak.bytes, row.peak_rss_bytes.value_or(0));
  row.task_peak_is_floor = !alone && (peak.bytes < *row.task_peak_bytes || !snapshots_were_taken());
}

/// To the end, as far as is known.
bool Summary::Impl::snapshots_were_taken() const {
  if (!end || !end->missing_families) return true;
  const auto& missing = *end->missing_families;
  return std::find(missing.begin(), missing.end(), to_string(Family::kSnapshots)) == missing.end();
}

SummaryRow Summary::Impl::total() const {
  SummaryRow row = internal::spanned(total_);
  row.name = "total";
  set_task_peak(row, memory_.peak());
  return row;
}

Summary::Summary() : impl_(std::make_unique<Impl>()) {}
Summary::~Summary() = default;
Summary::Summary(Summary&&) noexcept = default;
Summary& Summary::operator=(Summary&&) noexcept = default;

void Summary::add(const Event& event) { impl_->add(event); }
std::vector<SummaryRow> Summary::by_tool() const { return impl_->by_tool(); }
std::vector<SummaryRow> Summary::by_step() const { return impl_->by_step(); }
std::vector<SummaryRow> Summary::by_task() const { return impl_->by_task(); }
std::vector<SummaryRow> Summary::by_sample() const { return impl_->by_sample(); }
std::vector<SummaryNode> Summary::tree() const { return impl_->tree(); }
std::vector<SummaryRow> Summary::largest_processes() const { return impl_->largest_processes(); }
SummaryRow Summary::total() const { return impl_->total(); }
const std::vector<Failure>& Summary::failures() const noexcept { return impl_->failures.different(); }
std::uint64_t Summary::failed() const noexcept { return impl_->failures.count(); }
const Excused& Summary::excused() const noexcept { return impl_->excused; }
std::vector<ProcessSample> Summary::survivors() const { return impl_->survivors(); }
std::vector<Pipeline> Summary::pipelines() const { return impl_->pipes.pipelines(); }
std::vector<CgroupMemory> Summary::cgroups() const { return impl_->cgroups.largest_first(); }
std::uint64_t Summary::exits() const noexcept { return impl_->exits; }
const std::map<std::string, std::uint64_t>& Summary::losses() const noexcept { return impl_->losses; }
const std::optional<SessionEnd>& Summary::end() const noexcept { return impl_->end; }

}  // namespace tracer
