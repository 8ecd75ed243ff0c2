// SPDX-License-Identifier: Apache-2.0
#include "session/label_numbers.hpp"

namespace tracer::internal {

void LabelNumbers::work() {
  Tracker* const tracker = source_.tracker();
  const auto now = ContextTable::Clock::now();
  if (tracker == nullptr || !contexts_->is_crowded()) return;
  if (now < next_ && !(contexts_->is_full() && now >= next_ - kPeriod + kPeriodWhenFull)) return;
  next_ = now + kPeriod;
  const std::uint64_t reached = source_.position();
  const auto unused = tracker->unused_contexts(contexts_->idle(reached, now - kOnItsWay));
  for (const std::uint32_t number : contexts_->settled(unused, reached, source_.end_position(), now - kOnItsWay))
    contexts_->forget(number, [&] {
      tracker->forget_context(number);
      forgotten_(number);
    });
}

}  // namespace tracer::internal
