// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "insight/wall_ledger.hpp"
#include "source/scope_counts.hpp"

namespace tracer::internal {

/// A run or task that the kernel counts as a whole, from its first process on to its end; once. All take the counts of
/// the same source.
class CountedScope {
 public:
  /// The kernel's id of it; 0: it is not counted.
  std::uint32_t id() const noexcept { return id_; }
  std::uint64_t from_ns() const noexcept { return from_ns_; }
  /// What is counted from now on belongs to `wall`. Does nothing where it was counted before.
  void begin(ScopeCounts& counts, WallLedger& wall);
  /// What was counted so far belongs to no ledger; the rest to this one.
  void begin_again(ScopeCounts& counts, WallLedger& wall);
  /// Before `wall` is closed, or asked for its sums: what was counted since the last time.
  void read(ScopeCounts& counts, WallLedger& wall);
  /// Nothing of it is known any more, and it is never counted again.
  void end(ScopeCounts& counts, WallLedger& wall);

 private:
  bool was_counted_ = false;
  std::uint32_t id_ = 0;
  std::uint64_t from_ns_ = 0;
  ProcessLedger told_ = {};  ///< Up to the last time.
};

}  // namespace tracer::internal
