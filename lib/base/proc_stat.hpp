// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tracer::internal {

/// The length of a tick, in which /proc counts CPU time and starts.
std::uint64_t tick_ns() noexcept;

/// What /proc/PID/stat says of a process.
struct ProcStat {
  std::string comm;
  char state = '?';              ///< As ps(1) shows it.
  std::uint32_t parent_pid = 0;  ///< 0: it has none.
  std::uint32_t flags = 0;       ///< The kernel's own, PF_....
  std::uint64_t minor_faults = 0;
  std::uint64_t major_faults = 0;
  std::uint64_t user_ns = 0;  ///< In whole ticks, as the next; together they are less than two ticks too small.
  std::uint64_t system_ns = 0;
  std::uint64_t children_cpu_ns = 0;  ///< Of those that it waited for; likewise.
  std::uint64_t threads = 0;
  /// Process::start_ns lies between these: /proc tells a tick.
  std::uint64_t started_from_ns = 0;
  std::uint64_t started_until_ns = 0;
  std::uint64_t stack = 0;            ///< Where its stack begins, which each exec changes; 0: hidden, or it has ended.
  std::uint64_t arguments_bytes = 0;  ///< As it was executed; 0: not known.
  int wait_status = 0;                ///< Of one that has ended, as waitpid() gives it; 0 also where it is hidden.
};

/// PF_FORKNOEXEC: it has executed nothing since its fork.
inline constexpr std::uint32_t kForkedOnly = 0x40;
/// PF_KTHREAD.
inline constexpr std::uint32_t kKernelThread = 0x00200000;

/// Absent: the text is none of this file.
std::optional<ProcStat> parse_proc_stat(std::string_view text);

/// Of /proc/PID/stat; absent: it does not live, or must not be seen.
std::optional<ProcStat> read_proc_stat(pid_t pid);
/// Whether the process that has this pid now began then.
bool lives(std::uint32_t pid, std::uint64_t start_ns);

}  // namespace tracer::internal
