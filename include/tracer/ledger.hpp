// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace tracer {

/// The wall time of threads by cause, summed over them, since they were followed: from birth, or from attached_ns on.
/// The causes sum to wall_ns.
struct Ledger {
  std::optional<std::uint64_t> cpu_user_ns;    ///< Like Account::user_ns; absent below a tick: see cpu_ns.
  std::optional<std::uint64_t> cpu_system_ns;  ///< Like Account::system_ns.
  std::uint64_t run_queue_ns = 0;              ///< Ready to run, but no CPU was free.
  std::uint64_t disk_ns = 0;                   ///< Storage and file systems.
  std::uint64_t pipe_ns = 0;                   ///< pipe_read_ns + pipe_write_ns.
  std::uint64_t network_ns = 0;                ///< Waiting for a socket that may reach another machine.
  std::uint64_t local_socket_ns = 0;           ///< Waiting for one between processes of this machine.
  std::uint64_t lock_ns = 0;                   ///< Futexes, file locks, semaphores.
  std::uint64_t child_ns = 0;                  ///< Waiting for a child to end, or to execute (vfork).
  std::uint64_t sleep_ns = 0;
  std::uint64_t poll_ns =
      0;  ///< Waiting for any of several descriptors, or for an event; not if a pipe or local socket ended it.
  std::uint64_t reclaim_ns = 0;  ///< While the kernel freed memory for it.
  std::uint64_t swap_ns = 0;     ///< In page faults that read: swapped out, or a mapped file.
  std::optional<std::uint64_t>
      throttled_ns;              ///< Ready, but held back by its cgroup's CPU limit. Absent: this kernel has no limits.
  std::uint64_t stopped_ns = 0;  ///< Stopped by a signal, a debugger or the freezer.
  std::uint64_t other_ns = 0;    ///< The rest: other waits, interrupts, time that a hypervisor took.
  std::uint64_t wall_ns = 0;
  std::uint64_t cpu_ns = 0;         ///< cpu_user_ns + cpu_system_ns.
  std::uint64_t pipe_read_ns = 0;   ///< Pipe empty: the writer is slower.
  std::uint64_t pipe_write_ns = 0;  ///< Pipe full: the reader is slower.
  std::optional<std::uint32_t>
      pipe_read_peer_pid;  ///< The process whose writes ended most of pipe_read_ns; absent: none, or unknown.
  std::optional<std::uint32_t> pipe_write_peer_pid;  ///< The process whose reads ended most of pipe_write_ns.
  std::optional<std::uint32_t>
      local_socket_peer_pid;  ///< The other process that ended most of local_socket_ns for certain; absent: none.
  std::uint64_t local_socket_peer_ns = 0;      ///< What it ended of that, at least.
  std::optional<std::uint32_t> lock_peer_pid;  ///< The other process that ended most of lock_ns for certain.
  std::uint64_t lock_peer_ns = 0;
};

/// The life of a process as a whole by cause, since it was followed. At each moment it was running, if at least one of
/// its threads was on a CPU; else in the run queue, if one could have run; else waiting, with the cause of the thread
/// whose return to a CPU ended the wait. The causes sum to life_ns; names that a Ledger has, too, mean the same.
/// Ledger::cpu_ns / running_ns is how many threads ran at once, on average, while any did.
struct ProcessLedger {
  std::uint64_t running_ns = 0;
  std::uint64_t run_queue_ns = 0;
  std::uint64_t disk_ns = 0;
  std::uint64_t pipe_ns = 0;  ///< pipe_read_ns + pipe_write_ns.
  std::uint64_t network_ns = 0;
  std::uint64_t local_socket_ns = 0;
  std::uint64_t lock_ns = 0;
  std::uint64_t child_ns = 0;
  std::uint64_t sleep_ns = 0;
  std::uint64_t poll_ns = 0;
  std::uint64_t reclaim_ns = 0;
  std::uint64_t swap_ns = 0;
  std::optional<std::uint64_t> throttled_ns;  ///< Absent: this kernel has no limits.
  std::uint64_t stopped_ns = 0;
  std::uint64_t other_ns = 0;
  std::uint64_t life_ns = 0;
  std::uint64_t pipe_read_ns = 0;
  std::uint64_t pipe_write_ns = 0;
};

/// The wall time of a task or run as a whole by cause. At each moment it was computing, if a thread of it was on a CPU;
/// else queued, if one could have run; else it waited for what kept its processes back. Waits of its processes for each
/// other, such as for a child or through a pipe, explain nothing and count for what the other did. Made of the ledgers
/// of its processes: computing_ns is a lower bound, computing_at_most_ns an upper one, and the other causes share the
/// rest. computing_ns and all causes behind it sum to wall_ns.
struct TaskLedger {
  std::uint64_t computing_ns = 0;  ///< At least.
  std::uint64_t queued_ns = 0;     ///< Ready to run, but no CPU was free.
  std::uint64_t throttled_ns = 0;  ///< Ready, but held back by its cgroup's CPU limit.
  std::uint64_t disk_ns = 0;       ///< Storage and file systems.
  std::uint64_t network_ns = 0;
  std::uint64_t pipe_ns = 0;          ///< Through a pipe, for a process that is not in it.
  std::uint64_t local_socket_ns = 0;  ///< Between processes of this machine.
  std::uint64_t lock_ns = 0;          ///< Futexes, file locks, semaphores.
  std::uint64_t sleep_ns = 0;
  std::uint64_t poll_ns = 0;     ///< For any of several descriptors, or for an event.
  std::uint64_t memory_ns = 0;   ///< While the kernel freed memory for it, or read pages back.
  std::uint64_t stopped_ns = 0;  ///< By a signal, a debugger or the freezer.
  std::uint64_t other_ns = 0;    ///< The rest, and the time in which no process of it lived.
  std::uint64_t wall_ns = 0;
  std::uint64_t computing_at_most_ns = 0;
};

}  // namespace tracer
