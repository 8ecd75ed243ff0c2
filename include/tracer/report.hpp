// SPDX-License-Identifier: Apache-2.0
/// A session's results as figures that are ready to be shown: sums of events, completed by the kernel's totals, and how
/// complete they are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tracer/export.hpp>
#include <tracer/families.hpp>
#include <tracer/recording.hpp>
#include <tracer/statistics.hpp>
#include <tracer/summary.hpp>
#include <tracer/tier.hpp>

namespace tracer {

/// How a figure relates to the true value.
enum class Bound { kExact, kAtLeast, kAtMost };

struct Figure {
  std::uint64_t value = 0;
  Bound bound = Bound::kExact;

  bool operator==(const Figure&) const = default;
};

/// Where processes spend their lives: the causes of a ProcessLedger, without its parts; where that is not known, the
/// causes of their threads' Ledger.
enum class TimeCause {
  kCpu,  ///< running_ns
  kRunQueue,
  kThrottled,
  kDisk,
  kPipe,
  kNetwork,
  kLocalSocket,
  kLock,
  kChild,
  kSleep,
  kEvents,
  kMemory,  ///< reclaim_ns + swap_ns
  kStopped,
  kOther,
  kUnclear,  ///< Of a task or run: computing, or one of the others. Bounds of computing_ns are that far apart.
};

/// One or two words: "CPU", "run queue", "disk" …
TRACER_EXPORT std::string_view to_string(TimeCause cause) noexcept;

struct TimeShare {
  TimeCause cause = TimeCause::kCpu;
  std::uint64_t time_ns = 0;
  double share = 0;  ///< The share of the lives of all processes, 0 to 1.
};

/// What tasks requested of one thing, beside what they used.
struct RequestedPart {
  std::uint64_t tasks = 0;  ///< That ended, and of which both are known; at least one.
  std::uint64_t requested = 0;
  Figure used = {};
  std::optional<std::uint64_t> used_at_most = {};  ///< An upper bound, if `used` is a lower one.
};

/// Of the tasks of a run or step.
struct RequestedUse {
  std::optional<RequestedPart> millicpus = {};     ///< On average over the wall times of all these tasks.
  std::optional<RequestedPart> memory_bytes = {};  ///< Of the task whose peak came nearest to its request.
};

/// Its figures are described in lib/report/row_figures.hpp, and shown everywhere by that description.
struct ReportRow {
  std::string name;
  Context task;                            ///< By task only: its identity.
  std::shared_ptr<const Process> process;  ///< The process of a row by process; else null.
  std::uint64_t processes = 0;             ///< The same as SummaryRow::processes.
  std::optional<Figure> tasks;             ///< In the row of a run or step: its number of tasks.
  std::uint64_t living = 0;                ///< The living part of `processes`: their figures are those so far.
  Figure failed;
  /// Of processes and lives_ns: at least, where some were lost or missed.
  Bound processes_bound = Bound::kExact;
  std::uint64_t wall_ns = 0;         ///< Elapsed: from first start to last end.
  Bound wall_bound = Bound::kExact;  ///< At least, where the first or the last may have been lost.
  std::uint64_t lives_ns = 0;        ///< The sum of their lives.
  std::uint64_t first_start_ns = 0;  ///< 0: unknown, as for last_end_ns.
  std::uint64_t last_end_ns = 0;
  std::optional<Figure> cpu_ns;
  /// cpu_ns / wall_ns, with the bound of cpu_ns. Absent: unknown, also where wall_ns is a lower bound.
  std::optional<double> cpu_utilization;
  /// How many threads of a process ran at once, on average, while any did: 1 if it computes in one thread. Absent:
  /// unknown.
  std::optional<double> concurrency;
  /// How many CPUs it used at once, on average, while any process of it ran: cpu_ns / TaskLedger::computing_ns. Of
  /// runs, steps and tasks. Absent: unknown, or the bounds of computing_ns are more than 5 % of the wall time apart.
  std::optional<double> parallelism;
  /// The most that its processes held together. By step: that of its largest task.
  std::optional<Figure> memory_bytes;
  std::optional<std::uint64_t> memory_at_most_bytes;  ///< An upper bound, if memory_bytes is a lower one.
  std::optional<Figure> read_bytes;                   ///< By read calls; at least: mapped files, io_uring.
  std::optional<Figure> written_bytes;                ///< By write calls; at least: mapped files, io_uring, splice.
  std::optional<Figure> network_received_bytes;       ///< From other machines.
  std::optional<Figure> network_sent_bytes;
  /// The largest first, none of 0. Of runs, steps and tasks with a task_ledger: by that, as shares of their wall time.
  /// Empty: not known.
  std::vector<TimeShare> time;
  std::optional<TaskLedger> task_ledger;  ///< Of runs, steps and tasks that finished: as in SummaryRow.
  std::vector<AwaitedTask> waits_for;     ///< Of a task: the other tasks that it waited for, as in TaskFinish.
  /// "compute", "memory", "disk", "network", "pipe", "lock", "cpu_limit", "oversubscribed", "idle" or "mixed", by the
  /// rules in docs/findings.md. Empty: not known.
  std::string bound_by;
  std::optional<double> bound_share;  ///< The share of `time` that shows it, 0 to 1. Absent: of "mixed", and unknown.
  Requested requested;                ///< From the announcement of a task.
  std::optional<RequestedUse> requested_use = {};  ///< Of a run or step. Absent: of no task both are known.
  SubmittedTask submitted = {};                    ///< Of a task, as in SummaryRow; so are the next.
  std::uint64_t queued = 0;
  std::uint64_t elsewhere = 0;
  std::uint64_t withdrawn = 0;
  std::uint64_t expired = 0;
  std::uint64_t queued_ns = 0;
};

/// A SummaryNode with the figures of its row.
struct ReportNode {
  SummaryLevel level = SummaryLevel::kTool;
  ReportRow row;
  std::vector<ReportNode> below;
};

/// The certificate: what is there, what is missing, and what is still right.
struct Completeness {
  Tier tier = Tier::kKernel;
  bool complete = false;         ///< Each process that ended was seen, and nothing was lost or damaged.
  std::uint64_t exits_seen = 0;  ///< ProcessExit events.
  /// Processes that ended, by the count of the kernel. Absent: not known, as a recording has no end or
  /// events of a service are missing.
  std::optional<std::uint64_t> ended;
  std::map<std::string, std::uint64_t> losses;  ///< By cause, as in Statistics::losses.
  RecordingDamage damage;                       ///< Of the recording that the events are from.
  /// Nothing is missing that rows add up: they are whole where their bounds say so. If false, they are lower bounds.
  bool rows_are_whole = false;
  /// The same of the total, which the kernel may have added up, including lost events.
  bool total_is_whole = false;
  std::vector<FamilyState> missing;  ///< Requested families that are missing, wholly or in part.
  /// As in SessionEnd. Not absent: processes were looked for from time to time, so that sums are lower bounds.
  std::optional<std::uint64_t> missed_at_most;
  /// Processes that lived before the session: they count from when they were attached.
  std::uint64_t attached = 0;
  std::uint64_t cpu_before_ns = 0;                   ///< That they had used until then.
  std::map<std::string, std::uint64_t> handed_over;  ///< Calls by daemon, as in Summary.
};

/// The cost of the tracing: of that which is known of OwnCost. A copy of one run knows nothing.
struct ReportCost {
  std::optional<std::uint64_t> cpu_ns = {};
  std::optional<std::uint64_t> snapshots_cpu_ns = {};
  std::optional<std::uint64_t> kernel_ns = {};
  std::optional<std::uint64_t> memory_bytes = {};
  std::optional<std::uint64_t> kernel_memory_bytes = {};
  std::optional<std::uint64_t> start_cpu_ns = {};  ///< The part of cpu_ns until the session had started.
  std::optional<double> cpu_share = {};  ///< Since then, of one CPU. Absent: the session's duration is unknown.
};

/// What an hour of a machine costs, in USD: a report with one has a cost of what its tasks did not use, an estimate.
/// Amounts are decimal numbers, such as "0.107", with at most 6 digits before the point and 12 behind.
struct HourlyPrice {
  std::string usd_per_hour;      ///< Of the whole machine.
  std::string usd_per_cpu_hour;  ///< The part of one of its CPUs, which weighs as much as 9 GiB.
  std::string usd_per_gib_hour;
  std::string instance_type;  ///< Empty, like the next two: the price is of no list, but given.
  std::string region;
  std::string model;  ///< "on-demand" or "spot".
  std::string basis;  ///< How it is known: "given", or what its list says, such as "listed".
  std::string date;   ///< Of the list: YYYY-MM-DD.
};

struct Report {
  std::string verdict;           ///< As in Summary. Empty: no run has ended.
  std::vector<ReportRow> tools;  ///< Most CPU first.
  std::vector<ReportRow> steps;  ///< In order of their first start; so are the tasks.
  std::vector<ReportRow> tasks;
  std::vector<ReportRow> samples;
  std::vector<ReportNode> tree;      ///< Runs, steps, tasks and tools; empty: no process belongs to any.
  std::vector<ReportRow> processes;  ///< The ones that consumed most CPU.
  ReportRow total;
  std::uint64_t answers = 0;      ///< Statuses other than 0 that are answers, not failures.
  std::vector<Finding> findings;  ///< As in Summary.
  std::vector<Failure> failures;
  std::uint64_t failures_seen = 0;  ///< The number of all failures, in events.
  Excused excused;
  std::vector<Survivor> survivors;
  std::vector<CriticalPath> critical_paths;  ///< As in Summary.
  std::vector<Pipeline> pipelines;
  std::vector<CgroupMemory> cgroups;
  std::vector<BusyFile> files;  ///< As in Summary, like the next five.
  std::vector<BusyFileSystem> file_systems;
  std::string folder;
  std::vector<BusyPeer> peers;
  std::vector<BusyDevice> devices;
  std::vector<BusyGpu> gpus;
  std::vector<std::string> instance_types;  ///< As in Summary.
  std::optional<HourlyPrice> price;         ///< Of the machine, from who shows the report. Absent: nothing has a cost.
  Completeness completeness;
  ReportCost cost;
};

/// The figures of a stopped session besides its events.
struct SessionFigures {
  std::vector<ContextTotals> totals = {};
  Statistics statistics = {};
  std::vector<FamilyState> families = {};  ///< Empty: no kernel was traced.
  std::uint64_t elapsed_ns = 0;
  /// The session took in processes that lived before: the totals have figures of their whole lives.
  bool lived_before = false;
  Tier tier = Tier::kRecording;  ///< Session::tier(). kRecording: these figures are of no session, or of a part of one.
  RecordingDamage damage = {};   ///< RecordingReader::damage() of the recording that the events are from.
  std::optional<std::uint64_t> start_cpu_ns = {};  ///< As in ReportCost.
};

/// Bytes that a process or program has read and written, as rows show them: by calls, or more if calls don't explain
/// the bytes moved from or to storage. Absent: unknown.
TRACER_EXPORT std::optional<Figure> bytes_read(const Account& account);
TRACER_EXPORT std::optional<Figure> bytes_written(const Account& account);
/// The sums of several reports, such as those of a run's machines; the times of each are put on the clock of the first:
/// `wall_offsets_ns` are HostInfo::wall_offset_ns, in the same order. Peaks are those of the largest; failures,
/// survivors, pipelines, cgroups and processes are listed for all, one report after the other. Pass at least one.
TRACER_EXPORT Report sum_of_reports(const std::vector<Report>& reports,
                                    const std::vector<std::int64_t>& wall_offsets_ns);

/// Without figures of a session, the report is of recorded events only. Pass the damage of their recording.
TRACER_EXPORT Report make_report(const Summary& summary, const SessionFigures& session = {});

/// One JSON object, without a line end, as docs/report.md describes it. Unknown values are left out.
TRACER_EXPORT std::string to_json(const Report& report);

/// The price that `tracer prices use` has written into this file. Throws Error(kFileUnreadable), also if it is damaged.
TRACER_EXPORT HourlyPrice read_price(const std::filesystem::path& file);

}  // namespace tracer
