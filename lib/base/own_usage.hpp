// SPDX-License-Identifier: Apache-2.0
/// What this process itself consumes.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.hpp"
#include "base/counter.hpp"

namespace tracer::internal {

/// Resident memory of this process; absent when /proc is not there.
std::optional<std::uint64_t> resident_bytes();

/// CPU time of a living thread of this process so far.
std::optional<std::uint64_t> thread_cpu_ns(pid_t thread) noexcept;

/// By read and write calls so far, those on pipes and sockets included.
struct CallBytes {
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
  std::size_t asked_bytes = 0;  ///< What asking has read itself: it is in what is asked for next.
};
std::optional<CallBytes> thread_io(pid_t thread) noexcept;
/// Of all threads of this process, those that ended included.
std::optional<CallBytes> process_io() noexcept;

/// Adds the CPU time that the calling thread spends in a block to a sum.
class CpuMeter {
 public:
  explicit CpuMeter(Counter& sum_ns) noexcept : sum_ns_(sum_ns), begin_ns_(clock_ns(CLOCK_THREAD_CPUTIME_ID)) {}
  ~CpuMeter() { sum_ns_.add(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns_); }
  CpuMeter(const CpuMeter&) = delete;
  CpuMeter& operator=(const CpuMeter&) = delete;

 private:
  Counter& sum_ns_;
  std::uint64_t begin_ns_;
};

}  // namespace tracer::internal
