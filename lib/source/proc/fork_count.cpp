// SPDX-License-Identifier: Apache-2.0
#include "source/proc/fork_count.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace tracer::internal {

bool ForkCount::start(const ProcFiles& files) {
  const auto forks = files.forks();
  if (!forks) return false;
  // Behind the reading: what starts later is in the difference for sure.
  since_ns_ = boot_time_ns();
  first_.store(*forks);
  return true;
}

void ForkCount::stop(const ProcFiles& files) noexcept try {
  if (const auto forks = files.forks()) last_.store(*forks);
} catch (...) {
  // Without memory to read it, the count goes on, which only makes the bound looser.
}

std::optional<std::uint64_t> ForkCount::missed_at_most(const ProcFiles& files) const {
  const std::uint64_t first = first_.load();
  if (first == kUnknown) return std::nullopt;
  // Before the count: what is seen in between would be taken off without being counted.
  const std::uint64_t seen = seen_.value();
  std::uint64_t last = last_.load();
  if (last == kUnknown) last = files.forks().value_or(kUnknown);
  const std::uint64_t forks = last - std::min(first, last);
  return forks - std::min(seen, forks);
}

}  // namespace tracer::internal
