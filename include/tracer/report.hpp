// SPDX-License-Identifier: Apache-2.0
/// What a session found, as figures that are ready to be shown: sums of events, made whole with what the kernel added
/// up, and how complete they are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tracer/export.hpp>
#include <tracer/families.hpp>
#include <tracer/statistics.hpp>
#include <tracer/summary.hpp>

namespace tracer {

/// What a figure says of the true one.
enum class Bound { kExact, kAtLeast, kAtMost };

struct Figure {
  std::uint64_t value = 0;
  Bound bound = Bound::kExact;

  bool operator==(const Figure&) const = default;
};

/// Where processes spend their lives: the causes of a ProcessLedger, without its parts. In recordings of earlier
/// versions: of the Ledger of their threads.
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
};

/// One or two words: "CPU", "run queue", "disk" …
TRACER_EXPORT std::string_view to_string(TimeCause cause) noexcept;

struct TimeShare {
  TimeCause cause = TimeCause::kCpu;
  std::uint64_t time_ns = 0;
  double share = 0;  ///< Of the lives of all processes, 0 to 1.
};

/// Its figures are described in lib/report/row_figures.hpp, and shown everywhere by that description.
struct ReportRow {
  std::string name;
  Context task;                            ///< By task only: its identity.
  std::shared_ptr<const Process> process;  ///< Of a row of one process; else null.
  std::uint64_t processes = 0;             ///< As SummaryRow::processes.
  std::optional<Figure> tasks;             ///< Of a run or step: how many tasks it has.
  std::uint64_t living = 0;                ///< Of the processes: their figures are those so far.
  Figure failed;
  std::uint64_t wall_ns = 0;         ///< Elapsed: from first start to last end.
  std::uint64_t lives_ns = 0;        ///< How long each lived, added up.
  std::uint64_t first_start_ns = 0;  ///< 0, as last_end_ns: not known.
  std::uint64_t last_end_ns = 0;
  std::optional<Figure> cpu_ns;
  std::optional<double> cpu_utilization;  ///< cpu_ns / wall_ns, with the bound of cpu_ns.
  /// How many threads of a process ran at once, on average, while any did: 1 for what computes in one thread. Absent:
  /// not known.
  std::optional<double> concurrency;
  /// What its processes held together. By step: of its largest task.
  std::optional<Figure> memory_bytes;
  std::optional<std::uint64_t> memory_at_most_bytes;  ///< Where memory_bytes is a lower bound.
  std::optional<Figure> read_bytes;                   ///< By read calls; at least: mapped files, io_uring.
  std::optional<Figure> written_bytes;                ///< By write calls; at least: mapped files, io_uring, splice.
  std::vector<TimeShare> time;                        ///< The largest first, none of 0. Empty: not known.
  Requested requested;                                ///< Of a task that was announced.
};

/// As SummaryNode.
struct ReportNode {
  SummaryLevel level = SummaryLevel::kTool;
  ReportRow row;
  std::vector<ReportNode> below;
};

/// Where the events come from.
enum class Tier {
  kKernel,     ///< This machine's kernel.
  kRecording,  ///< A recording, or another source of events.
};

/// The certificate: what is there, what is missing, and what is right all the same.
struct Completeness {
  Tier tier = Tier::kKernel;
  bool complete = false;                        ///< Each process that ended was seen, and nothing was lost.
  std::uint64_t exits_seen = 0;                 ///< ProcessExit events.
  std::uint64_t ended = 0;                      ///< Processes that ended, by the count of the kernel.
  std::map<std::string, std::uint64_t> losses;  ///< By cause, as in Statistics::losses.
  /// The total was added up in the kernel, beside the events that were lost: it is whole where its bounds say so.
  bool total_is_whole = false;
  std::vector<FamilyState> missing;  ///< Families that were asked for, but are not there, or not all of them.
};

/// What the tracing cost.
struct ReportCost {
  OwnCost own;
  std::optional<double> cpu_share;  ///< Of one CPU. Absent: it is not known how long the session lasted.
};

struct Report {
  std::vector<ReportRow> tools;  ///< Most CPU first.
  std::vector<ReportRow> steps;  ///< In order of their first start, as the tasks.
  std::vector<ReportRow> tasks;
  std::vector<ReportRow> samples;
  std::vector<ReportNode> tree;      ///< Of runs, steps, tasks and tools; empty: nothing belongs to any.
  std::vector<ReportRow> processes;  ///< Those that consumed most CPU.
  ReportRow total;
  std::uint64_t answers = 0;  ///< Statuses other than 0 that are answers, not failures.
  std::vector<Failure> failures;
  std::uint64_t failures_seen = 0;  ///< Of all kinds, in events.
  Excused excused;
  std::vector<ProcessSample> survivors;
  std::vector<Pipeline> pipelines;
  std::vector<CgroupMemory> cgroups;
  Completeness completeness;
  ReportCost cost;
};

/// What a session knows besides its events, once it was stopped.
struct SessionFigures {
  std::vector<ContextTotals> totals = {};
  Statistics statistics = {};
  std::vector<FamilyState> families = {};  ///< Empty: no kernel was traced.
  std::uint64_t elapsed_ns = 0;
  /// Processes were taken in that lived before: their CPU time is that of their whole lives.
  bool lived_before = false;
};

/// What a process or program has read and written, as rows show it: by calls, or more where calls don't explain what
/// was moved from or to storage. Absent: not known.
TRACER_EXPORT std::optional<Figure> bytes_read(const Account& account);
TRACER_EXPORT std::optional<Figure> bytes_written(const Account& account);
/// The sums of several reports, such as those of a run's machines; the times of each are put on the clock of the first:
/// `wall_offsets_ns` are HostInfo::wall_offset_ns, in the same order. What no sum can be made of is that of the largest
/// (peaks), or of all, one after the other (failures, survivors, pipelines, cgroups, processes). At least one.
TRACER_EXPORT Report sum_of_reports(const std::vector<Report>& reports,
                                    const std::vector<std::int64_t>& wall_offsets_ns);

/// Without figures of a session, of recorded events alone.
TRACER_EXPORT Report make_report(const Summary& summary, const SessionFigures& session = {});

/// One JSON object, without a line end, as docs/report.md describes it. What is not known is left out.
TRACER_EXPORT std::string to_json(const Report& report);

}  // namespace tracer
