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
/// What an engine said of a task that it had submitted.
struct SubmittedTask {
  bool started = false;                     ///< A process of it has begun here.
  std::string state = {};                   ///< Until then: TaskSubmit::state. Empty: it has started, or none was said.
  std::optional<std::string> outcome = {};  ///< As in TaskSubmit.
  std::uint64_t submitted_ns = 0;           ///< 0: that was not reported.
};

/// Sums of the programs of one tool, of one step, or of all: ended programs, and living ones by their last sample.
struct SummaryRow {
  std::string name;
  Context task;                                 ///< By task only: its labels.
  std::shared_ptr<const Process> process = {};  ///< The process of a row by process; else null.
  std::uint64_t processes = 0;     ///< That ended or live in it. By tool: that executed it, or are a copy of one.
  std::uint64_t living = 0;        ///< The living part of `processes`.
  std::uint64_t wall_ns = 0;       ///< Elapsed: from first start to last end, or last sample if it lives.
  std::uint64_t lives_ns = 0;      ///< The sum of its programs' durations.
  std::uint64_t cpu_ns = 0;        ///< Sum of the known ones.
  std::uint64_t own_parts = 0;     ///< Number of OwnWork events; its process is not in `processes`.
  std::uint64_t own_cpu_ns = 0;    ///< The part of cpu_ns in these.
  std::uint64_t unknown_cpus = 0;  ///< Programs of unknown CPU time: cpu_ns has lower bounds of them, if any.
  std::uint64_t cpu_at_most_more_ns = 0;  ///< Programs whose process is known, but not they, may have so much more.
  std::uint64_t read_bytes = 0;           ///< Sum of the known ones.
  std::uint64_t read_at_most_bytes = 0;   ///< An upper bound, of those that have one.
  std::uint64_t unknown_reads = 0;        ///< Programs with only a bound, if it exceeds what exec itself reads.
  std::uint64_t unbounded_reads = 0;      ///< Without even a bound: read_bytes is too small.
  /// Like read_bytes, but the bytes fetched from storage if read calls don't explain them (mapped files, io_uring).
  std::uint64_t read_at_least_bytes = 0;
  std::uint64_t written_bytes = 0;  ///< Sum of the known ones.
  /// Like written_bytes, but the bytes made dirty for storage if write calls don't explain them (mapped files,
  /// io_uring, splice).
  std::uint64_t written_at_least_bytes = 0;
  std::uint64_t unknown_writes = 0;          ///< Programs of unknown writes: written_bytes is too small.
  std::uint64_t network_sent_bytes = 0;      ///< Sum of the known ones.
  std::uint64_t network_received_bytes = 0;  ///< Likewise.
  std::uint64_t unknown_networks = 0;        ///< Programs of which neither is known.
  std::uint64_t failed = 0;                  ///< Failures that began here: see Failure.
  /// Processes that ended by a signal or with a status other than 0, but are not failures of their own, or not yet
  /// known to be: they passed on another's failure, wrote to a reader that had enough, or were ended by a process that
  /// had started them.
  std::uint64_t excused = 0;
  std::uint64_t engine_failures = 0;            ///< Failures of the engine's own processes; not in `failed`.
  std::uint64_t answers = 0;                    ///< Ended with ProcessExit::status_is_answer; they are not in `failed`.
  std::uint64_t unknown_statuses = 0;           ///< Ended, and nobody knows how: `failed` may be too small.
  std::optional<std::uint64_t> peak_rss_bytes;  ///< Peak of the largest single program.
  std::uint64_t first_start_ns = 0;
  std::uint64_t last_end_ns = 0;
  std::uint64_t unknown_peaks = 0;  ///< Programs whose peak is not known.
  /// The most that its processes held together at any snapshot, or the largest process's own peak if that is more. By
  /// step: that of its largest task. Absent: nothing is known.
  std::optional<std::uint64_t> task_peak_bytes;
  /// The largest sum of the peaks of processes that lived at once. Absent: one peak is unknown, or some were lost.
  std::optional<std::uint64_t> task_peak_at_most_bytes;
  bool task_peak_is_floor = false;      ///< The two differ by more than 1 %.
  std::uint64_t unknown_snapshots = 0;  ///< Snapshots at which it was unknown.
  Requested requested;                  ///< From the announcement of a task.
  std::optional<Ledger> ledger;  ///< Summed over those of which it is known; without peers. Absent: none is known.
  std::optional<ProcessLedger> process_ledger;  ///< Summed in the same way.
  /// Of tasks and runs that finished: summed over those of which it is known. Absent: none is.
  std::optional<TaskLedger> task_ledger;
  std::vector<AwaitedTask> waits_for;  ///< Of a task, as in TaskFinish.
  SubmittedTask submitted = {};        ///< Of a task.
  std::uint64_t queued = 0;            ///< Tasks that wait for their turn.
  std::uint64_t elsewhere = 0;         ///< Tasks that run or ran, but not here.
  std::uint64_t withdrawn = 0;         ///< Tasks that were over before they ran.
  std::uint64_t expired = 0;           ///< Tasks that waited longer than their submissions hold.
  std::uint64_t queued_ns = 0;         ///< How long those waited that started.
};

/// A task on the critical path of its run.
struct PathTask {
  Key task_key = {};
  std::string name;  ///< For people: "align (S1)"; "?": it has none.
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;  ///< Of one that has not finished: of the last event.
  bool finished = false;
};

/// The tasks that a run could not have been shorter than: each read a file that the one before it had written, and
/// began when that had ended.
struct CriticalPath {
  Key run_key = {};
  std::vector<PathTask> tasks = {};  ///< In their order; one at least.
  std::uint64_t at_least_ns = 0;     ///< What they took in all. What tasks pass on in other ways is not seen.
  std::uint64_t at_most_ns = 0;      ///< The longest chain of tasks that did not overlap, whatever they needed.
  bool by_files = false;             ///< False: which task needed which is not known; the longest one stands for all.
  std::optional<std::uint64_t> without_task_ns = {};  ///< As in RunFinish. Absent: the run has not finished, either.
};

/// The tree of runs, steps, tasks and tools.
enum class SummaryLevel {
  kRun,
  kStep,
  kTask,
  kTool,
  kEngine,  ///< The engine's own work in the run or task above.
};

struct SummaryNode {
  SummaryLevel level = SummaryLevel::kTool;
  SummaryRow row;
  std::vector<SummaryNode> below;  ///< The slowest first; tools with the most CPU first.
};

/// Processes of one tool that failed in the same way. A failure counts once, where it began: parents that ended with
/// the same status, or with 128 + the signal, passed it on and are not failures of their own. It began in a process for
/// which ProcessExit::failed() holds, or whose answer made a parent fail. These are not failures: the answer of a
/// shell's subshell (status 1); a process that wrote to a reader that had enough, unless a script ended by that; and a
/// process ended by a signal of its parent or a process above that did not fail by it.
struct Failure {
  std::shared_ptr<const Process> process;  ///< The first of them.
  std::optional<std::int32_t> exit_code = {};
  std::optional<std::int32_t> exit_signal = {};
  bool core_dumped = false;
  std::optional<std::string> exit_signal_sender = {};  ///< As in ProcessExit.
  std::optional<bool> oom_killed = {};                 ///< As in ProcessExit.
  std::shared_ptr<const Process> sent_by = {};         ///< The sender, for the first; null: the kernel, or unknown.
  std::uint64_t count = 1;
  /// What their parents did next is known only later, and not always: it is unknown for the rest of `count`.
  std::uint64_t passed_on = 0;  ///< All known processes above ended with it.
  std::uint64_t ignored = 0;    ///< A parent, or one above, went on or ended otherwise.
  std::vector<std::shared_ptr<const Process>> passed_on_by = {};  ///< For the first, at most 8: from its parent up.
  std::shared_ptr<const Process> ignored_by = {};                 ///< For the first; null: none, or unknown.
  bool retried = false;  ///< The task of the first was tried again, and succeeded then.
};

/// A process that has not ended, as its last sample saw it.
struct Survivor {
  ProcessSample sample;
  std::uint64_t begin_ns = 0;  ///< As in ProcessExit.
};

/// Ends by a signal, or with a status other than 0, that are not failures.
struct Excused {
  std::uint64_t reader_had_enough = 0;  ///< They wrote to a pipe or socket that nobody read anymore.
  std::uint64_t ended_by_starter = 0;   ///< By the signal of a process above, such as the workers of a pool.
};

/// Programs that pass data on through pipes, and which of them the others wait for.
struct Pipeline {
  std::vector<std::string> stages;  ///< Tools, from the first writer on.
  /// The stage that waits least for pipes. Empty: none stands out, or there is too little evidence: less than 0.5 s of
  /// life, 50 ms of waits or 64 KiB of data, or polls that may have been waits for its pipes.
  std::string bottleneck;
  double bottleneck_share = 0;  ///< The share of its processes' lives that it waits for pipes, 0 to 1.
  double others_share = 0;      ///< The same for all other stages together.
  /// What the bottleneck itself waits for in at least half of its processes' lives: "sleep", "network" or "disk".
  /// Empty: none of these, or not known.
  std::string bottleneck_waits_for = {};
  std::uint64_t waited_ns = 0;  ///< For pipes, by all stages: at most its life for each process.
};

/// A file among those that were read or written most, by all processes together.
struct BusyFile {
  std::string path;
  std::string read_by;     ///< The tool that read most of it. Empty: none is known to have read.
  std::string written_by;  ///< Likewise.
  std::uint64_t opens = 0;
  std::uint64_t read_bytes = 0;  ///< Sum of the known ones.
  std::uint64_t written_bytes = 0;
  std::uint64_t unknown_uses = 0;  ///< Events of which not all bytes are known: the sums are lower bounds.
};

/// All files on file systems of one kind.
struct BusyFileSystem {
  std::string filesystem;        ///< As in FileUse: "nfs4".
  std::uint64_t read_bytes = 0;  ///< Sum of the known ones.
  std::uint64_t written_bytes = 0;
  std::uint64_t unknown_uses = 0;  ///< As in BusyFile.
};

/// Another machine that a tool exchanged data with, or failed to.
struct BusyPeer {
  std::string tool;
  std::string protocol;
  std::optional<std::string> role = {};  ///< As in Connection, like the next three.
  std::optional<std::string> address = {};
  std::optional<std::uint32_t> port = {};  ///< The peer's, or a server's own.
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t failed_connects = 0;
  std::optional<std::int32_t> error = {};  ///< errno of the last that failed.
};

/// A block device, over all snapshots.
struct BusyDevice {
  std::string name;
  std::uint64_t read_bytes = 0;  ///< For the whole host.
  std::uint64_t written_bytes = 0;
  std::uint64_t span_ns = 0;  ///< That the snapshots cover.
  std::optional<std::uint64_t> busy_ns = {};
  std::string tool;  ///< The tool, with its task, that asked for most at the snapshots' ends. Empty: none did.
  std::optional<std::string> task = {};
  std::uint64_t tool_bytes = 0;  ///< That it asked for while it asked for most.
};

/// A GPU, over all samples of followed processes.
struct BusyGpu {
  std::string gpu;  ///< As in GpuSample; so is the next.
  std::optional<std::string> name = {};
  std::uint64_t span_ns = 0;                  ///< Of the samples, while a followed process used it.
  std::optional<std::uint64_t> busy_ns = {};  ///< In this span, for all processes of the host. Absent: not known.
  std::optional<std::uint64_t> used_ns = {};  ///< Likewise, the sum over followed processes.
  std::optional<std::uint64_t> memory_peak_bytes = {};  ///< The most that followed processes held together.
  std::optional<std::uint64_t> capacity_bytes = {};
  std::string tool;  ///< The tool, with its task, whose process held the most; if none did, used it for longest.
  std::optional<std::string> task = {};
  std::optional<std::uint64_t> tool_peak_bytes = {};  ///< The most that this process held.
};

/// The most that was charged to a cgroup, and how much of it its processes explain.
struct CgroupMemory {
  /// The kernel's own mark, if it rose during the session; else the maximum of all snapshots, and `peak_is_floor`: the
  /// mark may be of earlier times.
  std::uint64_t peak_bytes = 0;
  bool peak_is_floor = false;
  CgroupSample highest;         ///< The snapshot with the most memory; memory_bytes is known.
  bool followed_wholly = true;  ///< All processes in it were followed at each snapshot.
};

/// Not thread-safe. Its memory grows with processes that live at once, and, up to the bounds below, with different
/// runs, steps, tasks and tools, but not with the number of processes that have lived: anybody can make up names. The
/// rest beyond a bound is added up in a row "(others)", or "(other tasks)" of its step or run, so sums stay complete;
/// before that, runs that finished first become one row "N earlier runs". Everything else is bounded, too: kMaxFailures
/// failures, 256 cgroups, and 65,536 processes that pipes may join.
class TRACER_EXPORT Summary {
 public:
  static constexpr std::size_t kMaxFailures = 100;  ///< Different ones.
  static constexpr std::size_t kMostProcesses = 200;
  static constexpr std::size_t kMostTools = 4096;      ///< Kept apart, also in each task.
  static constexpr std::size_t kMostToolRows = 32768;  ///< In all of the tree: more than one in each task.
  static constexpr std::size_t kMostRuns = 4096;       ///< Kept apart: a year's worth of a busy host.
  static constexpr std::size_t kMostSteps = 16384;  ///< For all runs together; those with the same name have one row.
  /// For all runs together, including rows for work in a run or step outside of tasks; later ones share a row of their
  /// step.
  static constexpr std::size_t kMostTasks = 20000;
  static constexpr std::size_t kMostBusy = 20;
  static constexpr std::size_t kMostFindings = 1000;  ///< Different ones.
  static constexpr std::size_t kMostInstanceTypes = 16;

  Summary();
  ~Summary();
  Summary(Summary&&) noexcept;
  Summary& operator=(Summary&&) noexcept;

  /// Returns it as it counts: what lived before the session does so from when it was attached.
  Event add(const Event& event);

  std::vector<SummaryRow> by_tool() const;    ///< Most CPU first.
  std::vector<SummaryRow> by_step() const;    ///< In order of their first start; empty if nothing has a step.
  std::vector<SummaryRow> by_task() const;    ///< Those with the same labels, in the same order; empty without labels.
  std::vector<SummaryRow> by_sample() const;  ///< By the sample label; the peak is that of the largest task.
  /// The runs and tasks; unknown levels are left out.
  std::vector<SummaryNode> tree() const;
  /// The processes that consumed most CPU, at most kMostProcesses, one row each, named by their tools.
  std::vector<SummaryRow> largest_processes() const;
  SummaryRow total() const;
  const std::vector<Failure>& failures() const noexcept;  ///< In order of their first; at most kMaxFailures.
  std::uint64_t failed() const noexcept;                  ///< All of them.
  const Excused& excused() const noexcept;
  /// In a sentence, whether the run has succeeded, and what has become of its tasks; of several runs, how many have.
  /// Empty: none has ended.
  std::string verdict() const;
  /// As they were reported last: errors first, then warnings, then notes; the earliest first among these.
  std::vector<Finding> findings() const;
  /// The last samples of processes that have not ended.
  std::vector<Survivor> survivors() const;
  /// Of each run with tasks, in their order. Not of one with more tasks than are kept apart.
  std::vector<CriticalPath> critical_paths() const;
  std::vector<Pipeline> pipelines() const;    ///< Those that waited longest first.
  std::vector<CgroupMemory> cgroups() const;  ///< Those with the highest peak first.
  std::vector<BusyFile> files() const;        ///< At most kMostBusy; those with most bytes first, as the next three.
  std::vector<BusyFileSystem> file_systems() const;
  /// That all runs began in, or the nearest one above. Without a '/' at its end. Empty: not known, or the root.
  std::string folder() const;
  std::vector<BusyPeer> peers() const;  ///< Failed ones behind.
  std::vector<BusyDevice> devices() const;
  std::vector<BusyGpu> gpus() const;  ///< At most kMostBusy; those used for longest first.
  /// Those that the machines say they are: HostSample::instance_type, in the order of the alphabet.
  std::vector<std::string> instance_types() const;
  /// Processes that lived before the session, which count from when they were attached; and their CPU time until then.
  std::uint64_t attached() const noexcept;
  std::uint64_t cpu_before_ns() const noexcept;
  /// Calls that handed work to daemons whose work is not among the events, by what these are called.
  std::map<std::string, std::uint64_t> handed_over() const;
  std::uint64_t exits() const noexcept;
  const std::map<std::string, std::uint64_t>& losses() const noexcept;  ///< By cause, of Loss events.
  const std::optional<SessionEnd>& end() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tracer
