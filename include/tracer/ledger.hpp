// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace tracer {

/// Where the wall time of threads went, summed over them, since they were followed: from birth, or from attached_ns on.
/// The causes sum to wall_ns. All absent when the family "waits" is off, or when a thread could not be followed.
struct Ledger {
  std::optional<std::uint64_t> cpu_user_ns;    ///< As Account::user_ns; absent below a tick: see cpu_ns.
  std::optional<std::uint64_t> cpu_system_ns;  ///< As Account::system_ns.
  std::optional<std::uint64_t> run_queue_ns;   ///< Ready to run, but no CPU was free.
  std::optional<std::uint64_t> disk_ns;        ///< Storage and file systems.
  std::optional<std::uint64_t> pipe_ns;        ///< pipe_read_ns + pipe_write_ns.
  std::optional<std::uint64_t> socket_ns;
  std::optional<std::uint64_t> lock_ns;   ///< Futexes, file locks, semaphores.
  std::optional<std::uint64_t> child_ns;  ///< For a child to end, or to execute (vfork).
  std::optional<std::uint64_t> sleep_ns;
  std::optional<std::uint64_t> poll_ns;     ///< For any of several descriptors, or for an event.
  std::optional<std::uint64_t> reclaim_ns;  ///< While the kernel freed memory for it.
  std::optional<std::uint64_t> swap_ns;     ///< In page faults that read: swapped out, or a mapped file.
  std::optional<std::uint64_t>
      throttled_ns;                         ///< Ready, but held back by its cgroup's CPU limit. Absent: no limits here.
  std::optional<std::uint64_t> stopped_ns;  ///< By a signal, a debugger or the freezer.
  std::optional<std::uint64_t> other_ns;    ///< The rest: other waits, interrupts, time that a hypervisor took.
  std::optional<std::uint64_t> wall_ns;
  std::optional<std::uint64_t> cpu_ns;         ///< cpu_user_ns + cpu_system_ns.
  std::optional<std::uint64_t> pipe_read_ns;   ///< Pipe empty: the one that writes is slower.
  std::optional<std::uint64_t> pipe_write_ns;  ///< Pipe full: the one that reads is slower.
  std::optional<std::uint32_t>
      pipe_read_peer_pid;  ///< Whose writes ended most of pipe_read_ns; absent: nobody's, unknown.
  std::optional<std::uint32_t> pipe_write_peer_pid;  ///< Whose reads ended most of pipe_write_ns.
};

}  // namespace tracer
