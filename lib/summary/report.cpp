// SPDX-License-Identifier: Apache-2.0
#include <tracer/report.hpp>

#include <algorithm>
#include <utility>

#include "context/layers.hpp"
#include "summary/time_shares.hpp"

namespace tracer {
namespace {

using internal::time_shares;

/// A sum in which some are missing is a lower bound; one of nothing is no figure.
std::optional<Figure> at_least(std::uint64_t missing, std::uint64_t sum) {
  if (missing == 0) return Figure{sum, Bound::kExact};
  if (sum == 0) return std::nullopt;
  return Figure{sum, Bound::kAtLeast};
}

enum class Peak { kOfLargestProcess, kOfAllAtOnce };

std::optional<Figure> peak_of(const SummaryRow& row, Peak kind) {
  const std::optional<std::uint64_t>& peak = row.task_peak_bytes ? row.task_peak_bytes : row.peak_rss_bytes;
  if (!peak) return std::nullopt;
  const bool whole = kind == Peak::kOfAllAtOnce
                         ? row.task_peak_bytes && row.unknown_snapshots == 0 && !row.task_peak_is_floor
                         : row.unknown_peaks == 0;
  return at_least(whole ? 0 : 1, *peak);
}

std::optional<Figure> read_of(const SummaryRow& row) {
  if (row.unbounded_reads != 0) return at_least(row.unbounded_reads, row.read_bytes);
  if (row.unknown_reads != 0) return Figure{row.read_at_most_bytes, Bound::kAtMost};
  return Figure{row.read_bytes, Bound::kExact};
}

ReportRow row_of(const SummaryRow& sums, Peak peak) {
  ReportRow row;
  row.name = sums.name;
  row.task = sums.task;
  row.process = sums.process;
  row.processes = sums.processes;
  row.failed = {sums.failed, Bound::kExact};
  row.wall_ns = sums.wall_ns;
  row.first_start_ns = sums.first_start_ns;
  row.last_end_ns = sums.last_end_ns;
  row.cpu_ns = at_least(sums.unknown_cpus, sums.cpu_ns);
  if (row.cpu_ns && row.wall_ns != 0)
    row.cpu_utilization = static_cast<double>(row.cpu_ns->value) / static_cast<double>(row.wall_ns);
  if (sums.ledger && sums.process_ledger && sums.process_ledger->running_ns != 0)
    row.concurrency = static_cast<double>(sums.ledger->cpu_ns) / static_cast<double>(sums.process_ledger->running_ns);
  row.peak_bytes = peak_of(sums, peak);
  row.read_bytes = read_of(sums);
  row.written_bytes = at_least(sums.unknown_writes, sums.written_bytes);
  row.time = time_shares(sums.process_ledger, sums.ledger);
  row.requested = sums.requested;
  return row;
}

std::vector<ReportRow> rows_of(const std::vector<SummaryRow>& sums, Peak peak) {
  std::vector<ReportRow> rows;
  for (const SummaryRow& each : sums) rows.push_back(row_of(each, peak));
  return rows;
}

ReportNode node_of(const SummaryNode& sums) {
  const bool is_tool = sums.level >= SummaryLevel::kTool;
  ReportNode node{sums.level, row_of(sums.row, is_tool ? Peak::kOfLargestProcess : Peak::kOfAllAtOnce), {}};
  for (const SummaryNode& each : sums.below) node.below.push_back(node_of(each));
  return node;
}

Completeness completeness_of(const Summary& summary, const SessionFigures& session) {
  Completeness certificate;
  certificate.tier = session.families.empty() ? Tier::kRecording : Tier::kKernel;
  certificate.exits_seen = summary.exits();
  certificate.losses = summary.losses();
  for (const auto& [cause, count] : session.statistics.losses) {
    std::uint64_t& known = certificate.losses[cause];
    known = std::max(known, count);
  }
  for (const ContextTotals& totals : session.totals) certificate.ended += totals.ended;
  if (certificate.tier == Tier::kRecording)
    certificate.ended = summary.end() ? summary.end()->processes_ended : certificate.exits_seen;
  const bool has_end = certificate.tier == Tier::kKernel || summary.end().has_value();
  certificate.complete = has_end && certificate.losses.empty() && certificate.exits_seen == certificate.ended;
  // What the ring had no room for was added up all the same.
  certificate.total_is_whole =
      certificate.complete ||
      (!session.totals.empty() && std::all_of(certificate.losses.begin(), certificate.losses.end(),
                                              [](const auto& loss) { return loss.first.starts_with("ring_full_"); }));
  for (const FamilyState& state : session.families)
    if (state.problem) certificate.missing.push_back(state);
  return certificate;
}

/// What processes read and wrote, as the kernel added it up.
void set_io(SummaryRow& row, const std::vector<ContextTotals>& contexts) {
  const bool known = std::all_of(contexts.begin(), contexts.end(),
                                 [](const ContextTotals& each) { return each.account.written_bytes.has_value(); });
  if (!known) {
    row.unbounded_reads = std::max<std::uint64_t>(row.unbounded_reads, 1);
    row.unknown_writes = std::max<std::uint64_t>(row.unknown_writes, 1);
    return;
  }
  row.read_bytes = row.read_at_most_bytes = row.unknown_reads = row.unbounded_reads = 0;
  row.written_bytes = row.unknown_writes = 0;
  for (const ContextTotals& totals : contexts) {
    const Account& account = totals.account;
    row.read_bytes += account.read_bytes.value_or(0);
    row.read_at_most_bytes += account.read_bytes.value_or(account.read_at_most_bytes.value_or(0));
    if (!account.read_bytes) ++row.unknown_reads;
    row.written_bytes += *account.written_bytes;
  }
}

/// The kernel counts statuses; only the events tell which of them are answers, excused, or the engine's own.
Figure failed_of(std::uint64_t kernel_failed, const SummaryRow& seen) {
  const std::uint64_t failed =
      kernel_failed - std::min(kernel_failed, seen.answers + seen.excused + seen.engine_failures);
  return {std::max(failed, seen.failed), failed > seen.failed ? Bound::kAtMost : Bound::kExact};
}

/// Sums that no lost event can change.
ReportRow total_of(const Summary& summary, const SessionFigures& session, bool complete) {
  SummaryRow sums = summary.total();
  if (session.totals.empty()) return row_of(sums, Peak::kOfAllAtOnce);
  const SummaryRow seen = sums;
  std::uint64_t cpu_ns = 0;
  std::uint64_t kernel_failed = 0;
  sums.processes = 0;
  for (const ContextTotals& totals : session.totals) {
    sums.processes += totals.ended;
    kernel_failed += totals.failed;
    cpu_ns += totals.account.cpu_ns.value_or(0);
  }
  if (!complete || session.lived_before) sums.wall_ns = std::max(sums.wall_ns, session.elapsed_ns);
  if (!complete || sums.unknown_cpus != 0) {
    sums.cpu_ns = cpu_ns + seen.own_cpu_ns;
    sums.unknown_cpus = 0;
  }
  // What exec itself has read is known better of each program than of all processes together.
  if (!complete) {
    set_io(sums, session.totals);
    // The kernel adds up what ended.
    sums.unbounded_reads += seen.own_parts;
    sums.unknown_writes += seen.own_parts;
  }
  ReportRow row = row_of(sums, Peak::kOfAllAtOnce);
  row.failed = failed_of(kernel_failed, seen);
  return row;
}

ReportCost cost_of(const Summary& summary, const SessionFigures& session) {
  ReportCost cost{session.statistics.cost, std::nullopt};
  const auto& end = summary.end();
  if (session.families.empty() && end) {
    cost.own.cpu_ns = end->cost_cpu_ns.value_or(0);
    cost.own.kernel_ns = end->cost_kernel_ns;
    cost.own.memory_bytes = end->cost_memory_bytes;
    cost.own.kernel_memory_bytes = end->cost_kernel_memory_bytes;
  }
  if (session.elapsed_ns != 0)
    cost.cpu_share = static_cast<double>(cost.own.cpu_ns) / static_cast<double>(session.elapsed_ns);
  return cost;
}

}  // namespace

Report make_report(const Summary& summary, const SessionFigures& session) {
  Report report;
  report.completeness = completeness_of(summary, session);
  report.tools = rows_of(summary.by_tool(), Peak::kOfLargestProcess);
  report.steps = rows_of(summary.by_step(), Peak::kOfAllAtOnce);
  report.tasks = rows_of(summary.by_task(), Peak::kOfAllAtOnce);
  report.samples = rows_of(summary.by_sample(), Peak::kOfAllAtOnce);
  // What is in an engine's run, but in no task, is the engine itself.
  std::erase_if(report.tasks, [](const ReportRow& row) { return row.task.engine && !internal::is_task(row.task); });
  for (const SummaryNode& node : summary.tree()) report.tree.push_back(node_of(node));
  report.processes = rows_of(summary.largest_processes(), Peak::kOfLargestProcess);
  report.total = total_of(summary, session, report.completeness.complete);
  report.answers = summary.total().answers;
  report.failures = summary.failures();
  report.failures_seen = summary.failed();
  report.excused = summary.excused();
  report.survivors = summary.survivors();
  report.pipelines = summary.pipelines();
  report.cgroups = summary.cgroups();
  report.cost = cost_of(summary, session);
  return report;
}

}  // namespace tracer
