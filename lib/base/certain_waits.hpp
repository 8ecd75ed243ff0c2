// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include <tracer/ledger.hpp>

namespace tracer::internal {

/// The time that may have been computing, and may have been a wait.
inline std::uint64_t unclear_ns(const TaskLedger& ledger) noexcept {
  const std::uint64_t waited_ns = ledger.wall_ns - std::min(ledger.computing_ns, ledger.wall_ns);
  return std::min(waited_ns, ledger.computing_at_most_ns - std::min(ledger.computing_ns, ledger.computing_at_most_ns));
}

/// The part of a wait in `ledger` that was one even if computing_at_most_ns is the truth: all have lost the same share.
inline std::uint64_t certain_ns(const TaskLedger& ledger, std::uint64_t wait_ns) noexcept {
  const std::uint64_t waited_ns = ledger.wall_ns - std::min(ledger.computing_ns, ledger.wall_ns);
  if (waited_ns == 0) return 0;
  const double certain = 1 - static_cast<double>(unclear_ns(ledger)) / static_cast<double>(waited_ns);
  return static_cast<std::uint64_t>(static_cast<double>(wait_ns) * certain);
}

}  // namespace tracer::internal
