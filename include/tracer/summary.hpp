// SPDX-License-Identifier: Apache-2.0
/// Adds events up, by tool and by step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/export.hpp>

namespace tracer {
/// Sums of the programs of one tool, of one step, or of all: of those that have ended, and of what still lives as far
/// as its last sample saw it.
struct SummaryRow {
  std::string name;
  Context task;                                 ///< By task only: its labels.
  std::shared_ptr<const Process> process = {};  ///< Of a row of one process; else null.
  std::uint64_t processes = 0;     ///< That ended or live in it. By tool: that have executed it, or are a copy of one.
  std::uint64_t living = 0;        ///< Of these, those that live.
  std::uint64_t wall_ns = 0;       ///< Elapsed: from first start to last end, or to the last sample of what lives.
  std::uint64_t lives_ns = 0;      ///< The sum of its programs' durations.
  std::uint64_t cpu_ns = 0;        ///< Of those for which it is known.
  std::uint64_t own_parts = 0;     ///< Of OwnWork: what the session's own process did, which is no process of these.
  std::uint64_t own_cpu_ns = 0;    ///< Of cpu_ns, in these.
  std::uint64_t unknown_cpus = 0;  ///< For which it is not: cpu_ns is too small.
  std::uint64_t read_bytes = 0;    ///< Of those for which it is known.
  std::uint64_t read_at_most_bytes = 0;  ///< A bound, of those for which there is one.
  std::uint64_t unknown_reads = 0;       ///< With a bound only, if more than what exec itself reads is in doubt.
  std::uint64_t unbounded_reads = 0;     ///< Without even a bound: read_bytes is too small.
  /// Likewise, where more was fetched from storage than read calls explain: that (mapped files, io_uring).
  std::uint64_t read_at_least_bytes = 0;
  std::uint64_t written_bytes = 0;  ///< Of those for which it is known.
  /// Likewise, where more was made dirty for storage than write calls explain: that (mapped files, io_uring, splice).
  std::uint64_t written_at_least_bytes = 0;
  std::uint64_t unknown_writes = 0;  ///< For which it is not: written_bytes is too small.
  std::uint64_t failed = 0;          ///< Failures that began here: see Failure.
  /// Ended by a signal or with a status other than 0, but no failures of their own, or not yet known to be any: they
  /// passed on another's, wrote to a reader that had enough, or were ended by what had started them.
  std::uint64_t excused = 0;
  std::uint64_t engine_failures = 0;            ///< Of the engine's own processes; they are not in `failed`.
  std::uint64_t answers = 0;                    ///< Ended with ProcessExit::status_is_answer; they are not in `failed`.
  std::optional<std::uint64_t> peak_rss_bytes;  ///< Of the largest single program.
  std::uint64_t first_start_ns = 0;
  std::uint64_t last_end_ns = 0;
  std::uint64_t unknown_peaks = 0;  ///< Programs whose peak is not known.
  /// The most that its processes held together at any snapshot, or the largest one's own peak if that is more. By step:
  /// of its largest task. Absent: nothing is known.
  std::optional<std::uint64_t> task_peak_bytes;
  /// The most of the sum of the peaks of those that lived at once. Absent: not known of one of them, or some were lost.
  std::optional<std::uint64_t> task_peak_at_most_bytes;
  bool task_peak_is_floor = false;      ///< The two differ by more than one part in a hundred.
  std::uint64_t unknown_snapshots = 0;  ///< At which it was not known.
  Requested requested;                  ///< Of a task that was announced.
  std::optional<Ledger> ledger;  ///< Summed over those for which it is known; peers are absent. Absent: of none it is.
  std::optional<ProcessLedger> process_ledger;  ///< Likewise.
};

/// The tree of runs, steps, tasks and tools.
enum class SummaryLevel {
  kRun,
  kStep,
  kTask,
  kTool,
  kEngine,  ///< What the engine itself did in the run or task above.
};

struct SummaryNode {
  SummaryLevel level = SummaryLevel::kTool;
  SummaryRow row;
  std::vector<SummaryNode> below;  ///< The slowest first; tools with the most CPU first.
};

/// Processes of one tool that failed in the same way. A failure is where it began: parents that ended with the same
/// status, or with 128 + the signal, passed it on and are no failures of their own. It is one only where
/// ProcessExit::failed(), or where a parent failed by the answer of a child. No failures are: the answer of a shell's
/// subshell (status 1); what wrote to a reader that had enough, unless a script ended by that; and what its parent, or
/// a process above, ended by a signal and did not fail by.
struct Failure {
  std::shared_ptr<const Process> process;  ///< The first of them.
  std::optional<std::int32_t> exit_code = {};
  std::optional<std::int32_t> exit_signal = {};
  bool core_dumped = false;
  std::optional<std::string> exit_signal_sender = {};  ///< As ProcessExit's.
  bool oom_killed = false;                             ///< By the kernel, as memory had run out.
  std::shared_ptr<const Process> sent_by = {};         ///< The sender, of the first; null: the kernel, or not known.
  std::uint64_t count = 1;
  /// What their parents did next cannot be seen at once, and not always: of the rest of `count` it is not known.
  std::uint64_t passed_on = 0;  ///< All of what is known above ended with it.
  std::uint64_t ignored = 0;    ///< A parent, or one above, went on or ended otherwise.
  std::vector<std::shared_ptr<const Process>> passed_on_by = {};  ///< Of the first, at most 8: from its parent on up.
  std::shared_ptr<const Process> ignored_by = {};                 ///< Of the first; null: nobody, or not known.
};

/// Ends by a signal, or with a status other than 0, that are no failures.
struct Excused {
  std::uint64_t reader_had_enough = 0;  ///< They wrote to a pipe or socket that nobody read any more.
  std::uint64_t ended_by_starter = 0;   ///< As the workers of a pool, by the signal of a process above.
};

/// Programs that pass data on through pipes, and which of them the others wait for.
struct Pipeline {
  std::vector<std::string> stages;  ///< Tools, from the first writer on.
  /// The stage that itself waits least for pipes. Empty: none stands out, or there is too little to go by: less than
  /// 0.5 s of life, 50 ms of waits or 64 KiB of data, or polls that may have been waits for its pipes.
  std::string bottleneck;
  double bottleneck_share = 0;  ///< Of its processes' lives that it waits for pipes, 0 to 1.
  double others_share = 0;      ///< The same of the other stages, all together.
  std::uint64_t waited_ns = 0;  ///< For pipes, by all stages: of each process at most its life.
};

/// The most that was charged to a cgroup, and what of it its processes explain.
struct CgroupMemory {
  std::uint64_t peak_bytes = 0;  ///< The kernel's own mark; where it has none, the most of all snapshots.
  CgroupSample highest;          ///< Of all snapshots that with the most memory; memory_bytes is known.
  bool followed_wholly = true;   ///< At each snapshot all processes in it were followed.
};

/// Not thread-safe. Its memory grows with processes that live at once, and with different runs, steps, tasks and tools
/// up to the bounds below, not with how many have lived: anybody can make up names. What is beyond a bound is added up
/// in a row "(others)", or "(other tasks)" of its step or run, so that sums stay whole; runs that have finished become
/// one row "N earlier runs" before that, those that finished first. What it keeps besides is
/// bounded, too: kMaxFailures failures, 256 cgroups, and 65,536 processes that pipes may join.
class TRACER_EXPORT Summary {
 public:
  static constexpr std::size_t kMaxFailures = 100;  ///< Different ones.
  static constexpr std::size_t kMostProcesses = 200;
  static constexpr std::size_t kMostTools = 4096;      ///< Told apart, also in each task.
  static constexpr std::size_t kMostToolRows = 32768;  ///< In all of the tree: more than one in each task.
  static constexpr std::size_t kMostRuns = 4096;       ///< Told apart: a year's worth of a busy host.
  static constexpr std::size_t kMostSteps = 16384;     ///< Of all runs together; those with the same name have one row.
  /// Of all runs together, with what is in a run or step, but in no task; those after them are one of their step.
  static constexpr std::size_t kMostTasks = 20000;

  Summary();
  ~Summary();
  Summary(Summary&&) noexcept;
  Summary& operator=(Summary&&) noexcept;

  void add(const Event& event);

  std::vector<SummaryRow> by_tool() const;    ///< Most CPU first.
  std::vector<SummaryRow> by_step() const;    ///< In order of their first start; empty if nothing has a step.
  std::vector<SummaryRow> by_task() const;    ///< Those with the same labels, in the same order; empty without labels.
  std::vector<SummaryRow> by_sample() const;  ///< Likewise by the sample label; the peak is that of the largest task.
  /// Of what belongs to runs or tasks; levels that nothing is known of are left out.
  std::vector<SummaryNode> tree() const;
  /// Those that consumed most CPU, at most kMostProcesses, as rows of one process each, named by their tools.
  std::vector<SummaryRow> largest_processes() const;
  SummaryRow total() const;
  const std::vector<Failure>& failures() const noexcept;  ///< In order of their first; at most kMaxFailures.
  std::uint64_t failed() const noexcept;                  ///< All of them.
  const Excused& excused() const noexcept;
  /// The last samples of processes that have not ended.
  std::vector<ProcessSample> survivors() const;
  std::vector<Pipeline> pipelines() const;    ///< Those that waited longest first.
  std::vector<CgroupMemory> cgroups() const;  ///< Those with the highest peak first.
  std::uint64_t exits() const noexcept;
  const std::map<std::string, std::uint64_t>& losses() const noexcept;  ///< By cause, of Loss events.
  const std::optional<SessionEnd>& end() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracer
