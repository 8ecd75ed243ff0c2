// SPDX-License-Identifier: Apache-2.0
#include <tracer/summary.hpp>

#include <algorithm>

#include <tracer/families.hpp>

#include "base/sums.hpp"
#include "correlate/account.hpp"
#include "summary/cgroup_peaks.hpp"
#include "summary/failures.hpp"
#include "summary/memory_rounds.hpp"
#include "summary/pipe_graph.hpp"

namespace tracer {
namespace {

constexpr const char* kNoTool = "(unknown)";

bool all_ended(const SessionEnd& end) { return end.processes_started == end.processes_ended; }

void add_reads(SummaryRow& row, const Account& account) {
  row.read_bytes += account.read_bytes.value_or(0);
  const std::optional<std::uint64_t> bound = account.read_bytes ? account.read_bytes : account.read_at_most_bytes;
  row.read_at_most_bytes += bound.value_or(0);
  if (!bound) {
    ++row.unbounded_reads;
  } else if (!account.read_bytes && *bound > internal::kMostExecReadBytes) {
    ++row.unknown_reads;
  }
}

void add_to(SummaryRow& row, const ProgramAccount& program, bool peak_matters) {
  const Account& account = program.account;
  row.cpu_ns += account.cpu_ns.value_or(0);
  if (!account.cpu_ns) ++row.unknown_cpus;
  add_reads(row, account);
  row.written_bytes += account.written_bytes.value_or(0);
  if (!account.written_bytes) ++row.unknown_writes;
  if (account.ledger) {
    if (!row.ledger) row.ledger.emplace();
    internal::add_figures(*row.ledger, *account.ledger, internal::Unknown::kIsPassed);
  }
  if (account.peak_rss_bytes) {
    row.peak_rss_bytes = std::max(row.peak_rss_bytes.value_or(0), *account.peak_rss_bytes);
  } else if (peak_matters) {
    ++row.unknown_peaks;
  }
  if (!program.start_ns || !program.end_ns) return;
  if (row.first_start_ns == 0 || *program.start_ns < row.first_start_ns) row.first_start_ns = *program.start_ns;
  row.last_end_ns = std::max(row.last_end_ns, *program.end_ns);
}

/// Of a row that spans time: from its first start to its last end.
SummaryRow spanned(SummaryRow row) {
  row.wall_ns = row.last_end_ns - std::min(row.first_start_ns, row.last_end_ns);
  return row;
}

/// In order of their first start; `describe` says what else belongs into the row of a key.
template <class Key, class Describe>
std::vector<SummaryRow> rows_by_start(const std::map<Key, SummaryRow>& sums, Describe describe) {
  std::vector<SummaryRow> rows;
  for (const auto& [key, row] : sums) {
    rows.push_back(spanned(row));
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
  SummaryRow total() const;
  std::vector<ProcessSample> survivors() const;

  internal::PipeGraph pipes;
  internal::CgroupPeaks cgroups;
  internal::Failures failures;
  std::uint64_t exits = 0;
  std::map<std::string, std::uint64_t> losses;
  std::optional<SessionEnd> end;

 private:
  template <class Visit>
  void for_each_whole(const Context& context, Visit visit);
  void add_program(const Process& process, const ProgramAccount& program, bool peak_matters);
  void add_exit(const ProcessExit& exit);
  void begin_snapshot(std::uint64_t time_ns);
  void set_task_peak(SummaryRow& row, const internal::MemoryPeak& peak) const;
  bool snapshots_were_taken() const;

  std::map<std::string, SummaryRow> tools_;
  std::map<std::string, SummaryRow> steps_;
  std::map<Context, SummaryRow> tasks_;
  SummaryRow total_;
  std::map<std::uint32_t, ProcessSample> living_;  ///< By pid; of the last snapshot.
  std::uint64_t snapshot_ns_ = 0;
  internal::MemoryRounds memory_;
};

/// The total, and the rows by step and task that these labels belong to.
template <class Visit>
void Summary::Impl::for_each_whole(const Context& context, Visit visit) {
  visit(total_);
  if (context.step) visit(steps_[*context.step]);
  if (context != Context{}) visit(tasks_[context]);
}

void Summary::Impl::add_program(const Process& process, const ProgramAccount& program, bool peak_matters) {
  SummaryRow& by_tool = tools_[program.program->tool.value_or(kNoTool)];
  add_to(by_tool, program, peak_matters);
  if (program.start_ns && program.end_ns && *program.end_ns > *program.start_ns)
    by_tool.wall_ns += *program.end_ns - *program.start_ns;
  for_each_whole(*process.context, [&](SummaryRow& row) { add_to(row, program, peak_matters); });
}

void Summary::Impl::add_exit(const ProcessExit& exit) {
  ++exits;
  living_.erase(exit.process->pid);
  pipes.ended(exit);
  add_program(*exit.process, exit.program, true);
  const bool failed = exit.failed();
  const auto count = [&](SummaryRow& row) {
    ++row.processes;
    if (failed) ++row.failed;
    if (exit.status_is_answer) ++row.answers;
  };
  count(tools_[exit.program.program->tool.value_or(kNoTool)]);
  for_each_whole(*exit.process->context, count);
  if (failed) failures.add(exit);
}

void Summary::Impl::add(const Event& event) {
  if (const auto* exec = event.get_if<ProcessExec>()) {
    pipes.saw(*exec->process);
    // Nobody asks for the peak of a mere copy of the parent, before its first exec.
    add_program(*exec->process, exec->ended, exec->ended.start_ns != exec->process->start_ns);
  } else if (const auto* exit = event.get_if<ProcessExit>()) {
    add_exit(*exit);
  } else if (const auto* sample = event.get_if<ProcessSample>()) {
    begin_snapshot(sample->time_ns);
    living_.insert_or_assign(sample->process->pid, *sample);
    memory_.add(*sample, *sample->process->context);
  } else if (const auto* folded = event.get_if<ToolSample>()) {
    begin_snapshot(folded->time_ns);
    memory_.add(*folded, *folded->context);
  } else if (const auto* cgroup = event.get_if<CgroupSample>()) {
    cgroups.add(*cgroup);
  } else if (const auto* whole = event.get_if<SnapshotEnd>()) {
    begin_snapshot(whole->time_ns);
  } else if (const auto* loss = event.get_if<Loss>()) {
    losses[loss->cause] += loss->count;
  } else if (const auto* last = event.get_if<SessionEnd>()) {
    end = *last;
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
  for (const auto& [pid, sample] : living_) all.push_back(sample);
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

/// At least what its largest process held, as snapshots may have missed it; of one process alone that is all.
void Summary::Impl::set_task_peak(SummaryRow& row, const internal::MemoryPeak& peak) const {
  row.unknown_snapshots = peak.unknown_snapshots;
  const bool all_seen = end && all_ended(*end) && losses.empty();
  const bool alone = all_seen && row.processes == 1 && row.peak_rss_bytes && row.unknown_peaks == 0;
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
  SummaryRow row = spanned(total_);
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
SummaryRow Summary::total() const { return impl_->total(); }
const std::vector<Failure>& Summary::failures() const noexcept { return impl_->failures.different(); }
std::uint64_t Summary::failed() const noexcept { return impl_->failures.count(); }
std::vector<ProcessSample> Summary::survivors() const { return impl_->survivors(); }
std::vector<Pipeline> Summary::pipelines() const { return impl_->pipes.pipelines(); }
std::vector<CgroupMemory> Summary::cgroups() const { return impl_->cgroups.largest_first(); }
std::uint64_t Summary::exits() const noexcept { return impl_->exits; }
const std::map<std::string, std::uint64_t>& Summary::losses() const noexcept { return impl_->losses; }
const std::optional<SessionEnd>& Summary::end() const noexcept { return impl_->end; }

}  // namespace tracer
