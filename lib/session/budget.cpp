// SPDX-License-Identifier: Apache-2.0
#include "session/budget.hpp"

#include <utility>

namespace tracer::internal {

std::optional<Family> Budget::check(Spent spent) {
  const Spent before = std::exchange(before_, std::move(spent));
  if (before_.wall_ns <= before.wall_ns) return std::nullopt;
  std::uint64_t all_ns = before_.reader_ns - before.reader_ns;
  std::uint64_t most_ns = 0;
  std::optional<Family> dearest;
  for (const auto& [family, sum] : before_.families) {
    const auto at = before.families.find(family);
    const Cost then = at == before.families.end() ? Cost{} : at->second;
    const std::uint64_t kernel_ns = sum.kernel_ns - then.kernel_ns;
    const std::uint64_t family_ns = kernel_ns + sum.reader_ns - then.reader_ns;
    all_ns += kernel_ns;
    // Of equal ones the last, which are those that give less.
    if (family == Family::kLifecycle || family_ns < most_ns) continue;
    most_ns = family_ns;
    dearest = family;
  }
  share_ = static_cast<double>(all_ns) / static_cast<double>(before_.wall_ns - before.wall_ns);
  over_ = max_share_ && share_ > *max_share_ ? over_ + 1 : 0;
  if (over_ < kMostSecondsOver || !dearest) return std::nullopt;
  over_ = 0;
  return dearest;
}

}  // namespace tracer::internal
