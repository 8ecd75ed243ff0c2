// SPDX-License-Identifier: Apache-2.0
#include "insight/counted_scope.hpp"

#include "base/sums.hpp"
#include "correlate/ledger.hpp"

namespace tracer::internal {

void CountedScope::begin(ScopeCounts& counts, WallLedger& wall) {
  if (was_counted_) return;
  was_counted_ = true;
  id_ = counts.begin().value_or(0);
  if (id_ == 0) return;
  from_ns_ = counts.now_ns();
  wall.count_from(from_ns_);
}

void CountedScope::begin_again(ScopeCounts& counts, WallLedger& wall) {
  if (id_ == 0) return;
  read(counts, wall);
  if (id_ == 0) return;
  from_ns_ = counts.now_ns();
  wall.count({});
  wall.count_from(from_ns_);
}

void CountedScope::read(ScopeCounts& counts, WallLedger& wall) {
  if (id_ == 0) return;
  const auto times = counts.read(id_);
  const auto ledger = times ? to_process_ledger(times->waits) : std::nullopt;
  if (!ledger) return end(counts, wall);
  // What was open at the last time has a cause by now.
  CountedSpan span{*ledger, times->open_ns};
  take_off_figures(span.ledger, told_);
  wall.count(span);
  told_ = *ledger;
}

void CountedScope::end(ScopeCounts& counts, WallLedger& wall) {
  was_counted_ = true;
  if (id_ == 0) return;
  counts.end(id_);
  id_ = 0;
  wall.count_no_more();
}

}  // namespace tracer::internal
