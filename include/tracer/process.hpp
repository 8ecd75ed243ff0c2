// SPDX-License-Identifier: Apache-2.0
/// Processes and what they consumed: parts of events.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tracer/context.hpp>
#include <tracer/export.hpp>
#include <tracer/ledger.hpp>

namespace tracer {

/// The program that a process runs. Immutable; shared by all events of the process until its next exec, and by children
/// that have not executed yet. All fields are absent if it is unknown, such as after a lost exec.
struct Program {
  std::optional<std::string> comm = {};  ///< The kernel's short name: at most 15 bytes.
  std::optional<std::string> exe = {};   ///< Path of the executable, below the process's own root.
  std::optional<std::vector<std::string>> argv =
      {};  ///< Secrets masked. A long vector keeps its first 3 KiB and its last 1 KiB, "…" between.
  std::optional<std::uint64_t> argv_cut_bytes = {};  ///< Bytes missing in the middle; absent: none.
  std::optional<std::string> cwd = {};               ///< When the program began, below the process's own root.
  std::optional<std::string> tool = {};              ///< From rules/tools.toml, such as "samtools sort".
  std::optional<std::uint32_t> exec_euid = {};       ///< Effective user id when the program began.
};

/// The cgroup that a process is in. Immutable; shared by all events of processes in it.
struct Cgroup {
  std::optional<std::string> path = {};  ///< Within its hierarchy.
  std::optional<std::uint64_t> id = {};
  std::optional<std::string> hierarchy = {};     ///< "v2", or the v1 hierarchy: "memory", "pids".
  std::optional<std::string> container_id = {};  ///< 64 hexadecimal digits, from the path.
};

/// The identity of a process, its program and where it belongs, as known when an event was made. Immutable; shared by
/// events. (boot id of the host, pid, start_ns) is unique forever; the pid alone is not.
struct TRACER_EXPORT Process {
  std::uint32_t pid = 0;                         ///< Thread group id in the session's pid namespace.
  std::uint64_t start_ns = 0;                    ///< When its first thread was created.
  std::optional<std::uint32_t> parent_pid;       ///< The process that was its parent when it began.
  std::optional<std::uint64_t> parent_start_ns;  ///< With parent_pid, the parent's identity.
  std::optional<std::uint32_t> uid;              ///< Real user id, in the initial user namespace.
  std::optional<std::uint32_t> pid_namespace;    ///< Inode number, as in /proc/PID/ns/pid.
  std::optional<std::uint32_t> mount_namespace;
  std::shared_ptr<const Program> program = unknown_program();  ///< Never null.
  std::shared_ptr<const Cgroup> cgroup = unknown_cgroup();     ///< Never null.
  std::shared_ptr<const Context> context = no_context();       ///< Never null.

  static const std::shared_ptr<const Program>& unknown_program() noexcept;
  static const std::shared_ptr<const Cgroup>& unknown_cgroup() noexcept;
  static const std::shared_ptr<const Context>& no_context() noexcept;
};

/// Figures of what a process or program consumed, summed over all threads including ended ones, without its children.
struct Account {
  std::optional<std::uint64_t> cpu_ns;  ///< Exact.
  /// A lower bound, if cpu_ns is unknown: by the last look at a process that was seen only from time to time, or of the
  /// parts that are known.
  std::optional<std::uint64_t> cpu_at_least_ns;
  /// Tier::kProc only, and not in cpu_ns: CPU time of children that it waited for, as far as it is in no account of a
  /// program: of those that nobody saw, and of those that were seen, after the last look at them. To about 20 ms.
  std::optional<std::uint64_t> missed_children_cpu_ns;
  std::optional<std::uint64_t> user_ns;    ///< The kernel's tick-sampled split, scaled to cpu_ns; absent below a tick.
  std::optional<std::uint64_t> system_ns;  ///< cpu_ns - user_ns.
  std::optional<std::uint64_t> run_queue_ns;  ///< Ready to run, but no CPU was free.
  std::optional<std::uint64_t> minor_faults;
  std::optional<std::uint64_t> major_faults;
  std::optional<std::uint64_t> voluntary_switches;
  std::optional<std::uint64_t> involuntary_switches;
  std::optional<std::uint64_t> peak_rss_bytes;           ///< This program's peak since its exec.
  std::optional<std::uint64_t> peak_rss_at_most_bytes;   ///< An upper bound, if peak_rss_bytes can't be known.
  std::optional<std::uint64_t> peak_rss_at_least_bytes;  ///< A lower bound: the most at a snapshot, each page once.
  std::optional<std::uint64_t> read_bytes;               ///< By read calls, without exec's own, io_uring, splice, mmap.
  std::optional<std::uint64_t> read_at_most_bytes;       ///< An upper bound, if exec's own reads can't be separated.
  std::optional<std::uint64_t> written_bytes;            ///< By write calls, without io_uring, splice, mmap, send.
  std::optional<std::uint64_t> read_calls;  ///< Those that read_bytes counts; also calls that read nothing.
  std::optional<std::uint64_t> write_calls;
  std::optional<std::uint64_t> storage_read_bytes;       ///< Fetched from storage because of it.
  std::optional<std::uint64_t> storage_written_bytes;    ///< Made dirty for storage.
  std::optional<std::uint64_t> storage_cancelled_bytes;  ///< Made dirty, and dropped before they got there.
  /// Through sockets that may reach other machines, since it was followed. Absent: "network" is off.
  std::optional<std::uint64_t> network_sent_bytes;
  std::optional<std::uint64_t> network_received_bytes;
  std::optional<Ledger> ledger;  ///< Where the time went. Absent: "waits" is off, or a thread could not be followed.
  std::optional<ProcessLedger> process_ledger;  ///< The same, for the process as a whole.
};

/// One of the programs that a process ran.
struct ProgramAccount {
  std::optional<std::uint64_t> start_ns;  ///< Its exec, or the fork for a copy of the parent.
  std::optional<std::uint64_t> end_ns;
  std::shared_ptr<const Program> program = Process::unknown_program();  ///< Never null.
  Account account;
  bool engine_own = false;  ///< It did the engine's own work, like Context::engine_own for the last program.
};

}  // namespace tracer
