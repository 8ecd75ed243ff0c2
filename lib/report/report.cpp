// SPDX-License-Identifier: Apache-2.0
#include <tracer/report.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "base/quantities.hpp"
#include "context/layers.hpp"
#include "report/bound_by.hpp"
#include "report/parallelism.hpp"
#include "report/report_sums.hpp"
#include "report/requested_use.hpp"
#include "report/sums/moved_bytes.hpp"
#include "report/sums/rows.hpp"
#include "report/task_names.hpp"
#include "report/time_shares.hpp"

namespace tracer {
namespace {

using internal::time_shares;

/// A sum in which some are missing is a lower bound; one of nothing is no figure.
std::optional<Figure> at_least(std::uint64_t missing, std::uint64_t sum) {
  if (missing == 0) return Figure{sum, Bound::kExact};
  if (sum == 0) return std::nullopt;
  return Figure{sum, Bound::kAtLeast};
}

/// What is not known of some programs changes no digit that is shown.
bool is_small(std::uint64_t more, std::uint64_t sum, std::string (*format)(std::uint64_t)) {
  return format(sum) == format(sum + more);
}

std::optional<Figure> cpu_of(const SummaryRow& row) {
  const bool unsure =
      row.cpu_at_most_more_ns != 0 && !is_small(row.cpu_at_most_more_ns, row.cpu_ns, internal::format_duration);
  return at_least(row.unknown_cpus + (unsure ? 1 : 0), row.cpu_ns);
}

std::optional<Figure> peak_of(const SummaryRow& row) {
  if (!row.task_peak_bytes) return std::nullopt;
  return at_least(row.task_peak_is_floor ? 1 : 0, *row.task_peak_bytes);
}

std::optional<Figure> read_of(const SummaryRow& row) {
  const bool more_fetched = row.read_at_least_bytes > row.read_bytes;
  if (row.unbounded_reads != 0 || more_fetched) return at_least(1, std::max(row.read_bytes, row.read_at_least_bytes));
  if (row.unknown_reads != 0 &&
      !is_small(row.read_at_most_bytes - row.read_bytes, row.read_bytes, internal::format_bytes))
    return Figure{row.read_at_most_bytes, Bound::kAtMost};
  return Figure{row.read_bytes, Bound::kExact};
}

std::optional<Figure> written_of(const SummaryRow& row) {
  const bool more_dirtied = row.written_at_least_bytes > row.written_bytes;
  return at_least(row.unknown_writes + (more_dirtied ? 1 : 0), std::max(row.written_bytes, row.written_at_least_bytes));
}

/// Of a task that has not started here, nothing is known of what it used.
void forget_use(ReportRow& row) {
  for (auto* const figure :
       {&row.cpu_ns, &row.read_bytes, &row.written_bytes, &row.network_received_bytes, &row.network_sent_bytes})
    figure->reset();
}

ReportRow row_of(const SummaryRow& sums) {
  ReportRow row;
  row.name = sums.name;
  row.task = sums.task;
  row.process = sums.process;
  row.processes = sums.processes;
  row.living = sums.living;
  row.failed = {sums.failed, sums.unknown_statuses == 0 ? Bound::kExact : Bound::kAtLeast};
  row.wall_ns = sums.wall_ns;
  row.lives_ns = sums.lives_ns;
  row.first_start_ns = sums.first_start_ns;
  row.last_end_ns = sums.last_end_ns;
  row.cpu_ns = cpu_of(sums);
  row.cpu_utilization = internal::utilization_of(row);
  if (sums.ledger && sums.process_ledger && sums.process_ledger->running_ns != 0)
    row.concurrency = static_cast<double>(sums.ledger->cpu_ns) / static_cast<double>(sums.process_ledger->running_ns);
  row.memory_bytes = peak_of(sums);
  if (row.memory_bytes && row.memory_bytes->bound == Bound::kAtLeast)
    row.memory_at_most_bytes = sums.task_peak_at_most_bytes;
  row.read_bytes = read_of(sums);
  row.written_bytes = written_of(sums);
  row.network_received_bytes = at_least(sums.unknown_networks, sums.network_received_bytes);
  row.network_sent_bytes = at_least(sums.unknown_networks, sums.network_sent_bytes);
  row.task_ledger = sums.task_ledger;
  row.waits_for = sums.waits_for;
  row.parallelism = internal::parallelism_of(row);
  row.time = sums.task_ledger ? time_shares(*sums.task_ledger) : time_shares(sums.process_ledger, sums.ledger);
  internal::set_bound(row);
  row.requested = sums.requested;
  row.submitted = sums.submitted;
  row.queued = sums.queued;
  row.elsewhere = sums.elsewhere;
  row.withdrawn = sums.withdrawn;
  row.expired = sums.expired;
  row.queued_ns = sums.queued_ns;
  if (!internal::has_begun(sums)) forget_use(row);
  return row;
}

/// What no process has executed are copies of others for the moment before their exec.
bool is_mere_copy(const SummaryRow& row) { return row.processes == 0 && row.own_parts == 0; }

std::vector<ReportRow> rows_of(const std::vector<SummaryRow>& sums) {
  std::vector<ReportRow> rows;
  for (const SummaryRow& each : sums) rows.push_back(row_of(each));
  return rows;
}

std::vector<ReportRow> tools_of(const std::vector<SummaryRow>& sums) {
  std::vector<ReportRow> rows;
  for (const SummaryRow& each : sums)
    if (!is_mere_copy(each)) rows.push_back(row_of(each));
  return rows;
}

ReportNode node_of(const SummaryNode& sums) {
  ReportNode node{sums.level, row_of(sums.row), {}};
  for (const SummaryNode& each : sums.below)
    if (each.level < SummaryLevel::kTool || !is_mere_copy(each.row)) node.below.push_back(node_of(each));
  return node;
}

/// Where events of a service are missing, so are beginnings and ends that nobody else has counted.
bool knows_ended(const Completeness& certificate) {
  const auto& losses = certificate.losses;
  return !losses.contains("service_gap") && !losses.contains("service_queue_full") &&
         (certificate.tier != Tier::kService || !losses.contains("queue_full"));
}

constexpr std::array<std::string_view, 20> kNotInRows = {
    "cgroup_forgotten",      "containers_full",    "findings_full",     "gpu_table_full",     "gpu_use_not_read",
    "gpu_use_refused",       "labels_cut",         "ledger_table_full", "ring_full_cgroup",   "ring_full_cgroup_end",
    "ring_full_connection",  "ring_full_file_use", "ring_full_gpu_use", "ring_full_oom_kill", "ring_full_process_start",
    "ring_full_syscall_use", "said_full",          "snapshot_failed",   "syscall_table_full", "task_ledgers_full"};

/// No row adds up what a loss of this cause lost.
bool is_in_no_row(std::string_view cause) {
  return std::find(kNotInRows.begin(), kNotInRows.end(), cause) != kNotInRows.end();
}

bool all_losses(const Completeness& certificate, bool (*holds)(std::string_view cause)) {
  return std::all_of(certificate.losses.begin(), certificate.losses.end(),
                     [holds](const auto& loss) { return holds(loss.first); });
}

/// Events are missing between the first and the last that were read.
bool lacks_events(RecordingDamage damage) {
  damage.truncated = false;
  return damage.any();
}

/// Nothing is missing but what lived too shortly to be met.
bool only_polled(const Completeness& certificate) {
  return certificate.missed_at_most && certificate.ended && !lacks_events(certificate.damage) &&
         all_losses(certificate, is_in_no_row);
}

Completeness completeness_of(const Summary& summary, const SessionFigures& session) {
  Completeness certificate;
  certificate.tier = session.tier;
  certificate.exits_seen = summary.exits();
  certificate.losses = summary.losses();
  for (const auto& [cause, count] : session.statistics.losses) {
    std::uint64_t& known = certificate.losses[cause];
    known = std::max(known, count);
  }
  certificate.missed_at_most = session.statistics.missed_at_most;
  if (!certificate.missed_at_most && summary.end()) certificate.missed_at_most = summary.end()->missed_at_most;
  certificate.damage = session.damage;
  if (certificate.tier != Tier::kRecording) {
    certificate.ended = 0;
    for (const ContextTotals& totals : session.totals) *certificate.ended += totals.ended;
  } else if (summary.end()) {
    certificate.ended = summary.end()->processes_ended;
  }
  internal::judge_rows(certificate);
  // What the ring had no room for was added up all the same.
  certificate.total_is_whole =
      certificate.rows_are_whole || (certificate.tier == Tier::kKernel && !session.totals.empty() &&
                                     all_losses(certificate, [](std::string_view cause) {
                                       return cause.starts_with("ring_full_") || is_in_no_row(cause);
                                     }));
  // The kernel's sums have all that those did that lived before.
  if (session.lived_before && summary.attached() != 0) certificate.total_is_whole = certificate.rows_are_whole;
  certificate.attached = summary.attached();
  certificate.cpu_before_ns = summary.cpu_before_ns();
  certificate.handed_over = summary.handed_over();
  for (const FamilyState& state : session.families)
    if (state.problem) certificate.missing.push_back(state);
  return certificate;
}

/// What processes read and wrote, as the kernel added it up.
void set_io(SummaryRow& row, const std::vector<ContextTotals>& contexts, const std::vector<Survivor>& living) {
  const bool known = std::all_of(contexts.begin(), contexts.end(),
                                 [](const ContextTotals& each) { return each.account.written_bytes.has_value(); });
  if (!known) {
    row.unbounded_reads = std::max<std::uint64_t>(row.unbounded_reads, 1);
    row.unknown_writes = std::max<std::uint64_t>(row.unknown_writes, 1);
    return;
  }
  row.read_bytes = row.read_at_least_bytes = row.read_at_most_bytes = row.unknown_reads = row.unbounded_reads = 0;
  row.written_bytes = row.written_at_least_bytes = row.unknown_writes = 0;
  const auto add = [&row](const Account& account) {
    row.read_at_least_bytes += internal::read_at_least(account);
    row.written_at_least_bytes += internal::written_at_least(account);
    row.read_bytes += account.read_bytes.value_or(0);
    row.read_at_most_bytes += account.read_bytes.value_or(account.read_at_most_bytes.value_or(0));
    if (!account.read_bytes) ++(account.read_at_most_bytes ? row.unknown_reads : row.unbounded_reads);
    row.written_bytes += account.written_bytes.value_or(0);
    if (!account.written_bytes) ++row.unknown_writes;
  };
  for (const ContextTotals& totals : contexts) add(totals.account);
  for (const Survivor& each : living) add(each.sample.account);
}

/// The kernel counts statuses; only the events tell which of them are answers, excused, or the engine's own.
Figure failed_of(std::uint64_t kernel_failed, const SummaryRow& seen) {
  const std::uint64_t failed =
      kernel_failed - std::min(kernel_failed, seen.answers + seen.excused + seen.engine_failures);
  return {std::max(failed, seen.failed), failed > seen.failed ? Bound::kAtMost : Bound::kExact};
}

/// Sums that no lost event can change.
ReportRow total_of(const Summary& summary, const SessionFigures& session, const Completeness& certificate) {
  SummaryRow sums = summary.total();
  const bool complete = certificate.complete;
  // A process that polls has counted, and added up nothing that events don't have.
  if (session.totals.empty() || session.statistics.missed_at_most) return row_of(sums);
  // These totals are of the same events.
  if (session.tier == Tier::kService && !complete) return row_of(sums);
  const SummaryRow seen = sums;
  const std::vector<Survivor> living = summary.survivors();
  std::uint64_t cpu_ns = 0;
  std::uint64_t kernel_failed = 0;
  for (const Survivor& each : living) cpu_ns += each.sample.account.cpu_ns.value_or(0);
  sums.processes = sums.living;
  for (const ContextTotals& totals : session.totals) {
    sums.processes += totals.ended;
    kernel_failed += totals.failed;
    cpu_ns += totals.account.cpu_ns.value_or(0);
  }
  if (!complete || session.lived_before) sums.wall_ns = std::max(sums.wall_ns, session.elapsed_ns);
  const bool whole_lives = session.lived_before && certificate.attached != 0;
  if (!whole_lives && (!complete || sums.unknown_cpus != 0)) {
    sums.cpu_ns = cpu_ns + seen.own_cpu_ns;
    const auto unknown = [](const Survivor& each) { return !each.sample.account.cpu_ns; };
    sums.unknown_cpus = static_cast<std::uint64_t>(std::count_if(living.begin(), living.end(), unknown));
  }
  // What exec itself has read is known better of each program than of all processes together.
  if (!complete && !whole_lives) {
    set_io(sums, session.totals, living);
    // The kernel adds up what ended.
    sums.unbounded_reads += seen.own_parts;
    sums.unknown_writes += seen.own_parts;
  }
  ReportRow row = row_of(sums);
  if (certificate.total_is_whole) row.failed = failed_of(kernel_failed, seen);
  return row;
}

/// There is more than these say: an upper bound is none any more, and 0 says nothing.
void leave_lower_bounds(std::initializer_list<std::optional<Figure>*> figures) {
  for (std::optional<Figure>* const figure : figures) {
    if (!*figure) continue;
    if ((*figure)->bound == Bound::kAtMost || (*figure)->value == 0) {
      figure->reset();
    } else {
      (*figure)->bound = Bound::kAtLeast;
    }
  }
}

/// Where the last samples are of some time before the end, what lives has done more by now.
void mark_living(ReportRow& row) {
  if (row.living == 0) return;
  leave_lower_bounds(
      {&row.cpu_ns, &row.read_bytes, &row.written_bytes, &row.network_received_bytes, &row.network_sent_bytes});
  row.cpu_utilization = internal::utilization_of(row);
}

/// Where events were lost, and where processes were looked for from time to time, any row of several may lack some.
void mark_lacking(ReportRow& row) {
  leave_lower_bounds({&row.cpu_ns, &row.memory_bytes, &row.read_bytes, &row.written_bytes, &row.network_received_bytes,
                      &row.network_sent_bytes, &row.tasks});
  row.failed.bound = row.processes_bound = Bound::kAtLeast;
  row.memory_at_most_bytes.reset();
  row.parallelism.reset();
  row.cpu_utilization = internal::utilization_of(row);
}

/// What was lost may have been the first or the last of a row. Who polls knows when those began and ended that it saw.
void mark_lost(ReportRow& row) {
  row.wall_bound = Bound::kAtLeast;
  mark_lacking(row);
}

template <class Mark>
void for_each_row(std::vector<ReportRow>& rows, const Mark& mark) {
  for (ReportRow& row : rows) mark(row);
}

template <class Mark>
void for_each_row(std::vector<ReportNode>& nodes, const Mark& mark) {
  for (ReportNode& node : nodes) mark(node.row), for_each_row(node.below, mark);
}

ReportCost cost_of(const Summary& summary, const SessionFigures& session) {
  ReportCost cost;
  const auto& end = summary.end();
  const OwnCost& own = session.statistics.cost;
  if (session.families.empty() && end) {
    cost = {end->cost_cpu_ns, {}, end->cost_kernel_ns, end->cost_memory_bytes, end->cost_kernel_memory_bytes};
  } else if (own.cpu_ns != 0) {  // A session has cost something.
    cost = {own.cpu_ns, own.snapshots_cpu_ns, own.kernel_ns, own.memory_bytes, own.kernel_memory_bytes};
  }
  cost.start_cpu_ns = session.start_cpu_ns;
  internal::set_cpu_share(cost, session.elapsed_ns);
  return cost;
}

}  // namespace

std::optional<Figure> bytes_read(const Account& account) {
  const std::uint64_t at_least = internal::read_at_least(account);
  if (account.read_bytes && at_least <= *account.read_bytes) return Figure{*account.read_bytes, Bound::kExact};
  if (at_least != 0) return Figure{at_least, Bound::kAtLeast};
  if (account.read_at_most_bytes) return Figure{*account.read_at_most_bytes, Bound::kAtMost};
  return std::nullopt;
}

std::optional<Figure> bytes_written(const Account& account) {
  const std::uint64_t at_least = internal::written_at_least(account);
  if (account.written_bytes && at_least <= *account.written_bytes) return Figure{*account.written_bytes, Bound::kExact};
  return at_least == 0 ? std::nullopt : std::optional(Figure{at_least, Bound::kAtLeast});
}

ReportRow internal::report_row(const SummaryRow& sums) { return row_of(sums); }

void internal::mark(ReportRow& row, RowsLack lack) {
  if (lack != RowsLack::kNothing) mark_living(row);
  if (lack == RowsLack::kUnseen) mark_lacking(row);
  if (lack == RowsLack::kLost) mark_lost(row);
}

void internal::judge_rows(Completeness& certificate) {
  if (!knows_ended(certificate)) certificate.ended.reset();
  const bool has_all = certificate.ended && !certificate.missed_at_most && !lacks_events(certificate.damage);
  certificate.complete =
      has_all && certificate.losses.empty() && certificate.exits_seen == certificate.ended.value_or(0);
  certificate.rows_are_whole =
      has_all && certificate.exits_seen >= certificate.ended.value_or(0) && all_losses(certificate, is_in_no_row);
}

internal::RowsLack internal::lack_of(const Completeness& certificate, bool is_over) {
  if (certificate.rows_are_whole) return is_over ? RowsLack::kNothing : RowsLack::kLater;
  return only_polled(certificate) ? RowsLack::kUnseen : RowsLack::kLost;
}

std::uint64_t internal::cpu_since_start(const ReportCost& cost) {
  const std::uint64_t cpu_ns = cost.cpu_ns.value_or(0);
  return cpu_ns - std::min(cpu_ns, cost.start_cpu_ns.value_or(0));
}

void internal::set_cpu_share(ReportCost& cost, std::uint64_t elapsed_ns) {
  if (cost.cpu_ns && elapsed_ns != 0)
    cost.cpu_share = static_cast<double>(cpu_since_start(cost)) / static_cast<double>(elapsed_ns);
}

void internal::bound_rows(Report& report, bool is_over) {
  const RowsLack least = is_over ? RowsLack::kNothing : RowsLack::kLater;
  const RowsLack lack = lack_of(report.completeness, is_over);
  const auto mark_row = [lack](ReportRow& row) { mark(row, lack); };
  for (auto* rows : {&report.tools, &report.steps, &report.tasks, &report.samples}) for_each_row(*rows, mark_row);
  for_each_row(report.tree, mark_row);
  for (ReportRow& row : report.processes) mark(row, least);
  mark(report.total, report.completeness.total_is_whole ? least : lack);
}

Report make_report(const Summary& summary, const SessionFigures& session) {
  Report report;
  report.completeness = completeness_of(summary, session);
  report.tools = tools_of(summary.by_tool());
  report.steps = rows_of(summary.by_step());
  report.tasks = rows_of(summary.by_task());
  report.samples = rows_of(summary.by_sample());
  // What is in an engine's run, but in no task, is the engine itself.
  std::erase_if(report.tasks, [](const ReportRow& row) { return row.task.engine && !internal::is_task(row.task); });
  for (const SummaryNode& node : summary.tree()) report.tree.push_back(node_of(node));
  internal::name_tasks(report.tree);
  report.processes = rows_of(summary.largest_processes());
  report.total = total_of(summary, session, report.completeness);
  internal::count_tasks(report);
  internal::bound_rows(report, summary.end().has_value());
  internal::set_requested_use(report.tree);
  report.answers = summary.total().answers;
  report.verdict = summary.verdict();
  report.findings = summary.findings();
  report.failures = summary.failures();
  report.failures_seen = summary.failed();
  report.excused = summary.excused();
  report.survivors = summary.survivors();
  report.critical_paths = summary.critical_paths();
  report.pipelines = summary.pipelines();
  report.files = summary.files();
  report.peers = summary.peers();
  report.file_systems = summary.file_systems();
  report.folder = summary.folder();
  report.devices = summary.devices();
  report.gpus = summary.gpus();
  report.instance_types = summary.instance_types();
  report.cgroups = summary.cgroups();
  report.cost = cost_of(summary, session);
  return report;
}

}  // namespace tracer
