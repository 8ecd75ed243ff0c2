// SPDX-License-Identifier: Apache-2.0
/// What this process itself consumes.
#pragma once

#include <time.h>

#include <cstdint>
#include <optional>

namespace tracer {

/// CPU time of the calling thread.
inline std::uint64_t thread_cpu_ns() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

/// Of this process; absent when /proc is not there.
std::optional<std::uint64_t> resident_bytes();

/// Adds the CPU time of a block to a sum.
class CpuMeter {
 public:
  explicit CpuMeter(std::uint64_t& sum_ns) noexcept : sum_ns_(sum_ns), begin_ns_(thread_cpu_ns()) {}
  ~CpuMeter() { sum_ns_ += thread_cpu_ns() - begin_ns_; }
  CpuMeter(const CpuMeter&) = delete;
  CpuMeter& operator=(const CpuMeter&) = delete;

 private:
  std::uint64_t& sum_ns_;
  std::uint64_t begin_ns_;
};

}  // namespace tracer
