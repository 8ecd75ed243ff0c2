// SPDX-License-Identifier: Apache-2.0
/// The typed facts that a session delivers. docs/signals.md tells for each field its source in the kernel and its
/// error.
///
/// Everywhere: times are nanoseconds of the boot clock (CLOCK_BOOTTIME), sizes are bytes, and what is not known is
/// absent (std::nullopt), never 0.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tracer/context.hpp>
#include <tracer/export.hpp>
#include <tracer/ledger.hpp>

namespace tracer {

/// Part of the recording format: a number is never reused.
enum class EventKind : std::uint16_t {
  kProcessStart = 1,
  kProcessExec = 2,
  kProcessExit = 3,
  kProcessSample = 4,
  kLoss = 5,
  kSessionEnd = 6,
};

/// "process_start", "process_exec" … as in dumps. Empty for an unknown value.
TRACER_EXPORT std::string_view to_string(EventKind kind) noexcept;

/// Who a process is and what it runs, as known when an event was made. Immutable; shared by events.
/// (boot id of the host, pid, start_ns) is unique for ever; the pid alone is not.
struct Process {
  std::uint32_t pid = 0;                         ///< Thread group id in the initial pid namespace.
  std::uint64_t start_ns = 0;                    ///< When its first thread was made.
  std::optional<std::uint32_t> parent_pid;       ///< Of the process that was its parent when it began.
  std::optional<std::uint64_t> parent_start_ns;  ///< With parent_pid the parent's identity.
  std::optional<std::uint32_t> uid;              ///< Real user id, in the initial user namespace.
  std::optional<std::string> comm;               ///< The kernel's short name: at most 15 bytes.
  std::optional<std::string> exe;                ///< Path of the executable, below the process's own root.
  std::optional<std::vector<std::string>>
      argv;  ///< Secrets masked. Of a long vector the first 3 KiB and the last 1 KiB.
  std::optional<std::uint64_t> argv_cut_bytes;  ///< What is missing in the middle; absent: nothing.
  std::optional<std::string> cwd;               ///< When the program began, below the process's own root.
  std::optional<std::string> cgroup;            ///< Path within its hierarchy.
  std::optional<std::uint64_t> cgroup_id;
  std::optional<std::string> cgroup_hierarchy;  ///< "v2", or the v1 hierarchy that cgroup is of: "memory", "pids".
  std::optional<std::string> container_id;      ///< 64 hexadecimal digits, from the cgroup's path.
  std::optional<std::uint32_t> pid_namespace;   ///< Inode number, as in /proc/PID/ns/pid.
  std::optional<std::uint32_t> mount_namespace;
  std::optional<std::string> tool;  ///< From rules/tools.toml, such as "samtools sort".
  Context context;
};

/// What was consumed, summed over all threads, ended ones too; never what children consumed.
struct Account {
  std::optional<std::uint64_t> cpu_ns;     ///< Exact.
  std::optional<std::uint64_t> user_ns;    ///< The kernel's tick-sampled split, scaled to cpu_ns; absent below a tick.
  std::optional<std::uint64_t> system_ns;  ///< cpu_ns - user_ns.
  std::optional<std::uint64_t> run_queue_ns;  ///< Ready to run, but no CPU was free.
  std::optional<std::uint64_t> minor_faults;
  std::optional<std::uint64_t> major_faults;
  std::optional<std::uint64_t> voluntary_switches;
  std::optional<std::uint64_t> involuntary_switches;
  std::optional<std::uint64_t> peak_rss_bytes;          ///< Of this program since its exec.
  std::optional<std::uint64_t> peak_rss_at_most_bytes;  ///< Where peak_rss_bytes can't be known, a bound.
  std::optional<std::uint64_t> read_bytes;          ///< By read calls. Not: exec's own reads, io_uring, splice, mmap.
  std::optional<std::uint64_t> read_at_most_bytes;  ///< Where exec's own reads can't be told apart, a bound.
  std::optional<std::uint64_t> written_bytes;       ///< By write calls. Not: io_uring, splice, mmap, send.
  std::optional<std::uint64_t> read_calls;
  std::optional<std::uint64_t> write_calls;
  std::optional<std::uint64_t> storage_read_bytes;       ///< Fetched from storage because of it.
  std::optional<std::uint64_t> storage_written_bytes;    ///< Made dirty for storage.
  std::optional<std::uint64_t> storage_cancelled_bytes;  ///< Made dirty, and dropped before it got there.
  Ledger ledger;                                         ///< Where the time went.
};

/// A process began: by fork, or, with attached_ns, it lived before the session did.
struct ProcessStart {
  static constexpr EventKind kKind = EventKind::kProcessStart;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Process> process;  ///< Never null. Runs its parent's program until it executes its own.
  std::optional<std::uint64_t> attached_ns;
};

/// One of the programs that a process ran.
struct ProgramAccount {
  std::optional<std::uint64_t> start_ns;  ///< Its exec, or the fork for a copy of the parent's.
  std::optional<std::uint64_t> end_ns;
  std::optional<std::string> exe;
  std::optional<std::string> tool;
  Account account;
};

/// A process began a new program, and so ended another.
struct ProcessExec {
  static constexpr EventKind kKind = EventKind::kProcessExec;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Process> process;  ///< Never null; with the new program.
  std::optional<std::uint64_t> attached_ns;
  ProgramAccount ended;  ///< The program that ended.
};

/// A process ended: its last thread is dead and its accounts are final.
struct ProcessExit {
  static constexpr EventKind kKind = EventKind::kProcessExit;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Process> process;  ///< Never null.
  std::optional<std::uint64_t> attached_ns;
  std::uint64_t start_ns = 0;  ///< As process->start_ns.
  std::uint64_t end_ns = 0;
  std::optional<std::int32_t> exit_code;    ///< 0 to 255; absent when a signal ended it.
  std::optional<std::int32_t> exit_signal;  ///< Absent when it exited by itself.
  bool core_dumped = false;
  std::optional<std::uint64_t> threads;  ///< Ever created, the first included.
  Account account;                       ///< Of the whole process; its peak is the last program's.
  ProgramAccount program;                ///< The last program's share.

  /// Ended by a signal or with a status other than 0.
  bool failed() const noexcept { return exit_signal.has_value() || exit_code.value_or(0) != 0; }
};

/// How far a process has come in the largest file that it reads. All absent: it reads none that is large.
struct Progress {
  std::optional<std::string> file;  ///< The file's name, without its folder; cut after 63 bytes.
  std::optional<std::uint64_t> position_bytes;
  std::optional<std::uint64_t> size_bytes;
  std::optional<std::uint64_t> bytes_per_s;   ///< Since the last sample. 0: it stands still. Absent in the first.
  std::optional<std::uint64_t> time_left_ns;  ///< At that rate.
};

/// A living process and what it has consumed so far. CPU time of a thread that is running may be a tick short.
struct ProcessSample {
  static constexpr EventKind kKind = EventKind::kProcessSample;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Process> process;  ///< Never null.
  std::optional<std::uint64_t> attached_ns;
  std::optional<std::uint64_t> threads;  ///< Alive now.
  std::optional<std::string>
      state;  ///< Of its first thread: "running" (or ready), "sleeping", "uninterruptible", "stopped".
  std::optional<std::uint64_t> rss_anonymous_bytes;  ///< Resident now; see pss_bytes.
  std::optional<std::uint64_t> rss_file_bytes;
  std::optional<std::uint64_t> rss_shared_bytes;
  std::optional<std::uint64_t> pss_bytes;  ///< Its share, where it has memory in common with its parent or children.
  Progress progress;
  Account account;
};

/// Something was lost since the last event of the same cause. Sums per context are not changed by it.
struct Loss {
  static constexpr EventKind kKind = EventKind::kLoss;
  std::uint64_t time_ns = 0;
  std::string cause;        ///< As in Statistics::losses.
  std::uint64_t count = 0;  ///< More of them since the last report.
};

/// The last event of a session; a recording without it was cut short.
struct SessionEnd {
  static constexpr EventKind kKind = EventKind::kSessionEnd;
  std::uint64_t time_ns = 0;
  std::uint64_t processes_started = 0;  ///< Those that ended and those still held; pruned ones in neither.
  std::uint64_t processes_ended = 0;
  std::uint64_t exits_delivered = 0;  ///< ProcessExit events of the session.
  std::uint64_t losses = 0;           ///< Of all causes.
};

using Event = std::variant<ProcessStart, ProcessExec, ProcessExit, ProcessSample, Loss, SessionEnd>;

TRACER_EXPORT EventKind kind_of(const Event& event) noexcept;
TRACER_EXPORT std::uint64_t time_of(const Event& event) noexcept;

/// One JSON object, `kind` first, without a line end. Bytes that are not UTF-8 become U+FFFD.
TRACER_EXPORT std::string to_json(const Event& event);

}  // namespace tracer
