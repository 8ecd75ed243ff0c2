// SPDX-License-Identifier: Apache-2.0
/// What this process itself consumes.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.hpp"
#include "base/counter.hpp"

namespace tracer::internal {

/// Resident memory of this process; absent when /proc is not there.
std::optional<std::uint64_t> resident_bytes();

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
