// SPDX-License-Identifier: Apache-2.0
/// How programs and processes are added to a row of sums.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <tracer/summary.hpp>

#include "base/sums.hpp"
#include "correlate/account.hpp"
#include "report/sums/moved_bytes.hpp"
#include "state/failure_chains.hpp"
#include "state/group_memory.hpp"

namespace tracer::internal {

inline constexpr const char* kNoTool = "(unknown)";
inline constexpr const char* kOthers = "(others)";
inline constexpr const char* kOtherTasks = "(other tasks)";
inline constexpr const char* kEarlierRuns = "(earlier runs)";

/// A row, and what its processes hold together.
struct RowSums {
  SummaryRow row = {};
  GroupMemory memory = {};
};

/// `has_ended`: it has read what its exec has, and that is not worth a word.
inline void add_reads(SummaryRow& row, const Account& account, bool has_ended) {
  row.read_bytes += account.read_bytes.value_or(0);
  row.read_at_least_bytes += read_at_least(account);
  const std::optional<std::uint64_t> bound = account.read_bytes ? account.read_bytes : account.read_at_most_bytes;
  row.read_at_most_bytes += bound.value_or(0);
  if (!bound) {
    ++row.unbounded_reads;
  } else if (!account.read_bytes && *bound > (has_ended ? kMostExecReadBytes : 0)) {
    ++row.unknown_reads;
  }
}

inline void add_figures_of(SummaryRow& row, const ProgramAccount& program, bool has_ended = true) {
  const Account& account = program.account;
  const std::uint64_t missed_ns = account.missed_children_cpu_ns.value_or(0);
  row.cpu_ns += least_cpu_ns(account).value_or(0) + missed_ns;
  if (!account.cpu_ns || missed_ns != 0) ++row.unknown_cpus;
  add_reads(row, account, has_ended);
  row.written_bytes += account.written_bytes.value_or(0);
  row.written_at_least_bytes += written_at_least(account);
  if (!account.written_bytes) ++row.unknown_writes;
  row.network_sent_bytes += account.network_sent_bytes.value_or(0);
  row.network_received_bytes += account.network_received_bytes.value_or(0);
  if (!account.network_sent_bytes) ++row.unknown_networks;
  const auto add_ledger = [](auto& sum, const auto& more) {
    if (!more) return;
    if (!sum) sum.emplace();
    add_figures(*sum, *more, Unknown::kIsPassed);
  };
  add_ledger(row.ledger, account.ledger);
  add_ledger(row.process_ledger, account.process_ledger);
  if (!program.start_ns || !program.end_ns) return;
  if (row.first_start_ns == 0 || *program.start_ns < row.first_start_ns) row.first_start_ns = *program.start_ns;
  row.last_end_ns = std::max(row.last_end_ns, *program.end_ns);
}

inline void add_life(SummaryRow& row, const ProgramAccount& program) {
  if (program.start_ns && program.end_ns)
    row.lives_ns += *program.end_ns - std::min(*program.start_ns, *program.end_ns);
}

/// One that has ended.
inline void add_to(RowSums& sums, const ProgramAccount& program, bool peak_matters) {
  add_figures_of(sums.row, program);
  add_life(sums.row, program);
  sums.memory.ended(program, peak_matters);
  if (program.account.peak_rss_bytes) {
    sums.row.peak_rss_bytes = std::max(sums.row.peak_rss_bytes.value_or(0), *program.account.peak_rss_bytes);
  } else if (peak_matters) {
    ++sums.row.unknown_peaks;
  }
}

/// One that lives, up to its last sample.
inline void add_living(RowSums& sums, const ProgramAccount& program) {
  add_figures_of(sums.row, program, false);
  add_life(sums.row, program);
  sums.memory.peak_unknown();
  ++sums.row.unknown_peaks;
}

enum class OwnParts {
  kOfTask,  ///< Of what it may do in there.
  kOwnRow,  ///< All that it did, and nothing else.
  kOfAll,   ///< All that it did, and all else. What is not known of one part is in another.
};

/// What the session's own process did. It has not ended, so it is no process of the row.
inline void add_own_work(RowSums& sums, const OwnWork& work, OwnParts parts) {
  SummaryRow& row = sums.row;
  ProgramAccount part;
  part.start_ns = work.begin_ns;
  part.end_ns = work.time_ns;
  part.account = work.account;
  const std::uint64_t cpu_ns = least_cpu_ns(work.account).value_or(0);
  if (parts != OwnParts::kOfTask) {
    if (!part.account.cpu_ns) part.account.cpu_ns = cpu_ns;
    if (!part.account.read_bytes) part.account.read_bytes = 0;
    if (!part.account.written_bytes) part.account.written_bytes = 0;
  }
  add_figures_of(row, part);
  // What it held before is no task's.
  std::optional<std::uint64_t> at_least = part.account.peak_rss_bytes;
  if (!at_least && parts == OwnParts::kOwnRow) at_least = part.account.peak_rss_at_least_bytes;
  if (at_least) row.peak_rss_bytes = std::max(row.peak_rss_bytes.value_or(0), *at_least);
  if (parts == OwnParts::kOwnRow && !part.account.peak_rss_bytes) ++row.unknown_peaks;
  sums.memory.worked(at_least, part.account.peak_rss_bytes);
  ++row.own_parts;
  row.own_cpu_ns += cpu_ns;
}

inline void add_task_ledger(SummaryRow& row, const std::optional<TaskLedger>& more) {
  if (!more) return;
  if (!row.task_ledger) row.task_ledger.emplace();
  add_figures(*row.task_ledger, *more, Unknown::kIsPassed);
}

/// Tasks that were submitted.
template <class Row>
void add_submitted(Row& row, const Row& more) {
  row.queued += more.queued;
  row.elsewhere += more.elsewhere;
  row.withdrawn += more.withdrawn;
  row.expired += more.expired;
  row.queued_ns += more.queued_ns;
}

/// False: of a task that was submitted, and of which nothing is seen here.
inline bool has_begun(const SummaryRow& row) { return row.submitted.state.empty(); }

/// As which of these the task counts.
inline void count_submitted(SummaryRow& row) {
  SubmittedTask& task = row.submitted;
  if (task.started) task.state.clear();
  row.queued = task.state == "submitted";
  row.elsewhere = task.state == "started_elsewhere" || task.state == "ended_elsewhere";
  row.withdrawn = task.state == "withdrawn";
  row.expired = task.state == "expired";
}

/// In a word, where it has not started here. Empty: it has, or was not submitted.
inline std::string_view state_of(const SubmittedTask& task) {
  if (task.state == "submitted") return "queued";
  if (task.state == "started_elsewhere") return "elsewhere";
  return task.state == "ended_elsewhere" ? std::string_view("finished") : std::string_view(task.state);
}

/// Programs of unknown CPU times that are known together: `all`: all of them are in this row.
inline void settle_cpu(SummaryRow& row, std::uint64_t programs, std::uint64_t cpu_ns, bool all) {
  row.unknown_cpus -= std::min(row.unknown_cpus, programs);
  (all ? row.cpu_ns : row.cpu_at_most_more_ns) += cpu_ns;
}

/// What is known stays.
inline void add_requested(SummaryRow& row, const Requested& requested) {
  if (requested != Requested{}) row.requested = requested;
}

/// Of a task.
inline void add_submit(SummaryRow& row, const TaskSubmit& submit) {
  SubmittedTask& task = row.submitted;
  task.submitted_ns = submit.submitted_ns;
  task.state = submit.state;
  task.outcome = submit.outcome;
  task.started |= submit.state == "started";
  if (submit.state == "started" || submit.state == "started_elsewhere")
    row.queued_ns = submit.time_ns - std::min(submit.time_ns, submit.submitted_ns);
  add_requested(row, submit.requested);
  count_submitted(row);
}

inline void add_start(SummaryRow& row, const TaskStart& start) {
  row.submitted.started = true;
  count_submitted(row);
  add_requested(row, start.requested);
  if (!start.submitted_ns) return;
  row.submitted.submitted_ns = *start.submitted_ns;
  row.queued_ns = start.time_ns - std::min(start.time_ns, *start.submitted_ns);
}

/// All that is added up in `more`, too.
inline void add_row(SummaryRow& row, const SummaryRow& more) {
  row.processes += more.processes;
  row.living += more.living;
  row.lives_ns += more.lives_ns;
  row.cpu_ns += more.cpu_ns;
  row.own_parts += more.own_parts;
  row.own_cpu_ns += more.own_cpu_ns;
  row.unknown_cpus += more.unknown_cpus;
  row.cpu_at_most_more_ns += more.cpu_at_most_more_ns;
  row.read_bytes += more.read_bytes;
  row.read_at_least_bytes += more.read_at_least_bytes;
  row.read_at_most_bytes += more.read_at_most_bytes;
  row.unknown_reads += more.unknown_reads;
  row.unbounded_reads += more.unbounded_reads;
  row.written_bytes += more.written_bytes;
  row.written_at_least_bytes += more.written_at_least_bytes;
  row.unknown_writes += more.unknown_writes;
  row.network_sent_bytes += more.network_sent_bytes;
  row.network_received_bytes += more.network_received_bytes;
  row.unknown_networks += more.unknown_networks;
  row.failed += more.failed;
  row.engine_failures += more.engine_failures;
  row.answers += more.answers;
  row.unknown_statuses += more.unknown_statuses;
  row.excused += more.excused;
  row.unknown_peaks += more.unknown_peaks;
  if (more.peak_rss_bytes) row.peak_rss_bytes = std::max(row.peak_rss_bytes.value_or(0), *more.peak_rss_bytes);
  if (more.first_start_ns != 0 && (row.first_start_ns == 0 || more.first_start_ns < row.first_start_ns))
    row.first_start_ns = more.first_start_ns;
  row.last_end_ns = std::max(row.last_end_ns, more.last_end_ns);
  if (more.ledger && !row.ledger) row.ledger.emplace();
  if (more.ledger) add_figures(*row.ledger, *more.ledger, Unknown::kIsPassed);
  if (more.process_ledger && !row.process_ledger) row.process_ledger.emplace();
  if (more.process_ledger) add_figures(*row.process_ledger, *more.process_ledger, Unknown::kIsPassed);
  add_task_ledger(row, more.task_ledger);
  add_submitted(row, more);
}

/// Likewise, with what they held.
inline void add_sums(RowSums& sums, const RowSums& more) {
  add_row(sums.row, more.row);
  sums.memory.add(more.memory);
}

inline void count_end(SummaryRow& row, const ProcessExit& exit) {
  ++row.processes;
  if (exit.failed()) ++(exit.process->context->engine_own ? row.engine_failures : row.excused);
  if (exit.status_is_answer) ++row.answers;
  if (!exit.exit_code && !exit.exit_signal) ++row.unknown_statuses;
}

/// What was excused, or an answer, is known to be a failure.
inline void count_failure(SummaryRow& row, const FailureOrigin& failure) {
  ++row.failed;
  // Its end may be in the sums of earlier runs by now.
  std::uint64_t& counted = failure.status_is_answer ? row.answers : row.excused;
  if (counted != 0) --counted;
}

inline void count_living(SummaryRow& row, std::uint64_t processes = 1) {
  row.processes += processes;
  row.living += processes;
}

/// What a sample of several processes of a tool is counted as.
inline ProgramAccount program_of(const ToolSample& sample) {
  auto named = std::make_shared<Program>();
  named->tool = sample.tool;
  ProgramAccount program;
  program.program = std::move(named);
  program.engine_own = sample.context->engine_own;
  program.account = sample.account;
  program.end_ns = sample.time_ns;
  return program;
}

/// When they began is not known: they can only prolong what others have begun.
inline void add_folded(RowSums& sums, const ToolSample& sample, const ProgramAccount& program) {
  add_living(sums, program);
  count_living(sums.row, sample.processes);
  if (sums.row.first_start_ns != 0) sums.row.last_end_ns = std::max(sums.row.last_end_ns, sample.time_ns);
}

inline void set_peak(SummaryRow& row, const PeakBounds& peak) {
  row.unknown_snapshots = peak.unknown_snapshots;
  row.task_peak_at_most_bytes = peak.at_most_bytes;
  row.task_peak_is_floor = !peak.exact();
  if (peak.at_least_bytes != 0) row.task_peak_bytes = peak.at_least_bytes;
}

inline PeakBounds peak_of(const SummaryRow& row) {
  return {row.task_peak_bytes.value_or(0), row.task_peak_at_most_bytes, row.unknown_snapshots};
}

/// Of several groups the larger one, by each bound.
inline PeakBounds larger_of(const PeakBounds& a, const PeakBounds& b) {
  PeakBounds larger{std::max(a.at_least_bytes, b.at_least_bytes), std::nullopt,
                    std::max(a.unknown_snapshots, b.unknown_snapshots)};
  if (a.at_most_bytes && b.at_most_bytes) larger.at_most_bytes = std::max(*a.at_most_bytes, *b.at_most_bytes);
  return larger;
}

/// Of a row that spans time: from its first start to its last end.
inline SummaryRow spanned(SummaryRow row) {
  row.wall_ns = row.last_end_ns - std::min(row.first_start_ns, row.last_end_ns);
  return row;
}

/// As it is shown. `whole`: nothing is missing that was in it, so that upper bounds hold.
inline SummaryRow shown(const RowSums& sums, bool whole) {
  SummaryRow row = spanned(sums.row);
  PeakBounds peak = sums.memory.peak();
  if (!whole) peak.at_most_bytes.reset();
  set_peak(row, peak);
  return row;
}

}  // namespace tracer::internal
