// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <thread>

namespace tracer::internal {

/// Starts a thread in which every signal is blocked: the program's handlers run on the program's own threads.
/// Throws Error(kNoMemory).
std::thread start_quiet_thread(std::function<void()> body);

/// What all quiet threads of this process have consumed so far, those that ended included.
struct QuietUsage {
  std::uint64_t cpu_ns = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
};
QuietUsage quiet_threads_usage() noexcept;

/// Gives up the capabilities of the calling thread alone, as those of other threads stay; but for CAP_SETUID and
/// CAP_SETGID: when the program changes its user, libc does so in each thread, and aborts if it fails in one.
void drop_capabilities_of_this_thread() noexcept;

}  // namespace tracer::internal
