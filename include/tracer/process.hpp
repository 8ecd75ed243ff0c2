// SPDX-License-Identifier: Apache-2.0
/// Processes and what they consumed: parts of events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tracer/context.hpp>
#include <tracer/ledger.hpp>

namespace tracer {

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

/// One of the programs that a process ran.
struct ProgramAccount {
  std::optional<std::uint64_t> start_ns;  ///< Its exec, or the fork for a copy of the parent's.
  std::optional<std::uint64_t> end_ns;
  std::optional<std::string> exe;
  std::optional<std::string> tool;
  Account account;
};

}  // namespace tracer
