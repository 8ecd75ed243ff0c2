// SPDX-License-Identifier: Apache-2.0
#include "session/label_numbers.hpp"

namespace tracer::internal {

void LabelNumbers::work() {
  Control* const control = source_.control();
  const auto now = ContextTable::Clock::now();
  if (control == nullptr || !contexts_->is_crowded()) return;
  if (now < next_ && !(contexts_->is_full() && now >= next_ - kPeriod + kPeriodWhenFull)) return;
  next_ = now + kPeriod;
  const std::uint64_t reached = source_.position();
  const auto unused = control->unused_contexts(contexts_->idle(reached, now - kOnItsWay));
  for (const std::uint32_t number : contexts_->settled(unused, reached, source_.end_position(), now - kOnItsWay))
    contexts_->forget(number, [&] {
      control->forget_context(number);
      forgotten_(number);
    });
}

}  // namespace tracer::internal
