// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace tracer::internal {

struct ProcStat {
  std::uint32_t parent_pid = 0;  ///< 0: it has none.
  std::uint32_t flags = 0;       ///< The kernel's own, PF_....
  /// Process::start_ns lies between these: /proc tells a tick.
  std::uint64_t started_from_ns = 0;
  std::uint64_t started_until_ns = 0;
  std::uint64_t arguments_bytes = 0;  ///< As it was executed; 0: not known.
};

/// Of /proc/PID/stat; absent: it does not live, or must not be seen.
std::optional<ProcStat> read_proc_stat(pid_t pid);

}  // namespace tracer::internal
