// SPDX-License-Identifier: Apache-2.0
#include "session/budget.hpp"

namespace tracer::internal {
namespace {

std::uint64_t grown(const std::map<Family, std::uint64_t>& now, const std::map<Family, std::uint64_t>& before,
                    Family family) {
  const auto at = now.find(family);
  const auto then = before.find(family);
  if (at == now.end()) return 0;
  return at->second - (then == before.end() ? 0 : then->second);
}

}  // namespace

std::optional<Family> Budget::check(const Spent& spent, bool waits_active, bool snapshots_active) {
  const Spent before = before_;
  before_ = spent;
  if (spent.wall_ns <= before.wall_ns) return std::nullopt;
  const auto of = [&](Family family) { return grown(spent.kernel_ns, before.kernel_ns, family); };
  const std::uint64_t snapshots_ns = spent.snapshots_cpu_ns - before.snapshots_cpu_ns;
  const std::uint64_t waits_ns = of(Family::kWaits);
  // What the iterators cost in the kernel is the reading thread's CPU time already.
  const std::uint64_t all_ns = spent.cpu_ns - before.cpu_ns + of(Family::kLifecycle) + waits_ns;
  share_ = static_cast<double>(all_ns) / static_cast<double>(spent.wall_ns - before.wall_ns);
  over_ = max_share_ && share_ > *max_share_ ? over_ + 1 : 0;
  if (over_ < kMostSecondsOver || (!waits_active && !snapshots_active)) return std::nullopt;
  over_ = 0;
  const bool snapshots_dearer = spent.kernel_ns.empty() || snapshots_ns >= waits_ns;
  return snapshots_active && (snapshots_dearer || !waits_active) ? Family::kSnapshots : Family::kWaits;
}

}  // namespace tracer::internal
