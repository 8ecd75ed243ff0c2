// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <time.h>

#include <cstdint>
#include <string_view>

namespace tracer::internal {

inline std::uint64_t clock_ns(clockid_t clock) noexcept {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

/// How far this process's time namespace sets the boot clock ahead of the kernel's own.
std::int64_t boot_offset_ns() noexcept;

/// As /proc/self/timens_offsets tells it; 0 where it tells none.
std::int64_t parse_boot_offset_ns(std::string_view text) noexcept;

/// The clock of all events: the kernel's own, in any time namespace.
inline std::uint64_t boot_time_ns() noexcept {
  return clock_ns(CLOCK_BOOTTIME) - static_cast<std::uint64_t>(boot_offset_ns());
}

}  // namespace tracer::internal
