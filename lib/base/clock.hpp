// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <time.h>

#include <cstdint>

namespace tracer::internal {

inline std::uint64_t clock_ns(clockid_t clock) noexcept {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

/// The clock of all events.
inline std::uint64_t boot_time_ns() noexcept { return clock_ns(CLOCK_BOOTTIME); }

}  // namespace tracer::internal
