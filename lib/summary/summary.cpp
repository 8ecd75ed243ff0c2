// SPDX-License-Identifier: Apache-2.0
#include <tracer/summary.hpp>

#include <algorithm>

#include <tracer/signals.hpp>

#include "base/field_sums.hpp"
#include "correlate/account.hpp"
#include "summary/cgroup_peaks.hpp"
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
  if (is_known(account.ledger)) add_fields(row.ledger, account.ledger, Unknown::kIsPassed);
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

Summary::Summary()
    : pipes_(std::make_unique<internal::PipeGraph>()),
      memory_(std::make_unique<internal::MemoryRounds>()),
      cgroups_(std::make_unique<internal::CgroupPeaks>()) {}
Summary::~Summary() = default;
Summary::Summary(Summary&&) noexcept = default;
Summary& Summary::operator=(Summary&&) noexcept = default;

/// The total, and the rows by step and task that these labels belong to.
template <class Visit>
void Summary::for_each_whole(const Context& context, Visit visit) {
  visit(total_);
  if (context.step) visit(steps_[*context.step]);
  if (context != Context{}) visit(tasks_[context]);
}

void Summary::add_program(const Process& process, const ProgramAccount& program, bool peak_matters) {
  SummaryRow& by_tool = tools_[program.tool.value_or(kNoTool)];
  add_to(by_tool, program, peak_matters);
  if (program.start_ns && program.end_ns && *program.end_ns > *program.start_ns)
    by_tool.wall_ns += *program.end_ns - *program.start_ns;
  for_each_whole(process.context, [&](SummaryRow& row) { add_to(row, program, peak_matters); });
}

void Summary::add(const Event& event) {
  if (const auto* exec = std::get_if<ProcessExec>(&event)) {
    pipes_->saw(*exec->process);
    // Of a mere copy of the parent, before its first exec, nobody asks for the peak.
    add_program(*exec->process, exec->ended, exec->ended.start_ns != exec->process->start_ns);
  } else if (const auto* exit = std::get_if<ProcessExit>(&event)) {
    ++exits_;
    living_.erase(exit->process->pid);
    pipes_->ended(*exit);
    add_program(*exit->process, exit->program, true);
    const std::uint64_t failed = exit->failed() ? 1 : 0;
    const auto count = [&](SummaryRow& row) {
      ++row.processes;
      row.failed += failed;
    };
    count(tools_[exit->program.tool.value_or(kNoTool)]);
    for_each_whole(exit->process->context, count);
    failed_ += failed;
    if (failed != 0 && failures_.size() < kMaxFailures)
      failures_.push_back({exit->process, exit->exit_code, exit->exit_signal, exit->core_dumped});
  } else if (const auto* sample = std::get_if<ProcessSample>(&event)) {
    begin_snapshot(sample->time_ns);
    living_.insert_or_assign(sample->process->pid, *sample);
    memory_->add(*sample, sample->process->context);
  } else if (const auto* folded = std::get_if<ToolSample>(&event)) {
    begin_snapshot(folded->time_ns);
    memory_->add(*folded, folded->context);
  } else if (const auto* cgroup = std::get_if<CgroupSample>(&event)) {
    cgroups_->add(*cgroup);
  } else if (const auto* loss = std::get_if<Loss>(&event)) {
    losses_ += loss->count;
  } else if (const auto* end = std::get_if<SessionEnd>(&event)) {
    end_ = *end;
    if (all_ended(*end)) living_.clear();
  }
}

/// Each snapshot names all that live: who is not in it has ended, even if that was lost.
void Summary::begin_snapshot(std::uint64_t time_ns) {
  if (snapshot_ns_ == time_ns) return;
  snapshot_ns_ = time_ns;
  living_.clear();
}

std::vector<ProcessSample> Summary::survivors() const {
  std::vector<ProcessSample> all;
  for (const auto& [pid, sample] : living_) all.push_back(sample);
  return all;
}

std::vector<Pipeline> Summary::pipelines() const { return pipes_->pipelines(); }

std::vector<CgroupMemory> Summary::cgroups() const { return cgroups_->largest_first(); }

std::vector<SummaryRow> Summary::by_tool() const {
  std::vector<SummaryRow> rows;
  for (const auto& [name, row] : tools_) {
    rows.push_back(row);
    rows.back().name = name;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.cpu_ns > b.cpu_ns; });
  return rows;
}

std::vector<SummaryRow> Summary::by_step() const {
  return rows_by_start(steps_, [this](SummaryRow& row, const std::string& step) {
    row.name = step;
    set_task_peak(row, memory_->peak_of_step(step));
  });
}

std::vector<SummaryRow> Summary::by_task() const {
  return rows_by_start(tasks_, [this](SummaryRow& row, const Context& task) {
    row.task = task;
    row.name = task.step.value_or("");
    set_task_peak(row, memory_->peak_of_task(task));
  });
}

/// At least what its largest process held, as snapshots may have missed it; of one process alone that is all.
void Summary::set_task_peak(SummaryRow& row, const internal::MemoryPeak& peak) const {
  row.unknown_snapshots = peak.unknown_snapshots;
  const bool all_seen = end_ && all_ended(*end_) && losses_ == 0;
  const bool alone = all_seen && row.processes == 1 && row.peak_rss_bytes && row.unknown_peaks == 0;
  if (alone) row.unknown_snapshots = 0;
  if (peak.bytes == 0 && !alone) return;
  row.task_peak_bytes = std::max(peak.bytes, row.peak_rss_bytes.value_or(0));
  row.task_peak_is_floor = !alone && (peak.bytes < *row.task_peak_bytes || !snapshots_were_taken());
}

/// To the end, as far as is known.
bool Summary::snapshots_were_taken() const {
  if (!end_ || !end_->missing_families) return true;
  const auto& missing = *end_->missing_families;
  return std::find(missing.begin(), missing.end(), to_string(Family::kSnapshots)) == missing.end();
}

SummaryRow Summary::total() const {
  SummaryRow row = spanned(total_);
  row.name = "total";
  set_task_peak(row, memory_->peak());
  return row;
}

}  // namespace tracer
