// SPDX-License-Identifier: Apache-2.0
/// What truth programs have in common.
#pragma once

#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace truth {

using Arguments = std::vector<std::string>;

inline long number(const Arguments& arguments, std::size_t at) { return std::atol(arguments.at(at).c_str()); }

inline std::uint64_t clock_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

inline void burn(clockid_t clock, std::uint64_t ns) {
  const std::uint64_t until = clock_ns(clock) + ns;
  while (clock_ns(clock) < until) {
  }
}

/// One line each.
inline void report(std::uint64_t value) {
  char text[32];
  const int size = std::snprintf(text, sizeof text, "%llu\n", static_cast<unsigned long long>(value));
  [[maybe_unused]] const ssize_t put = ::write(STDOUT_FILENO, text, static_cast<std::size_t>(size));
}

}  // namespace truth
