// SPDX-License-Identifier: Apache-2.0
#include "context/announcement_shares.hpp"

namespace tracer::internal {

AnnouncementShares::Refusal AnnouncementShares::judge(uid_t user, const AnnouncementCost& cost,
                                                      const std::optional<AnnouncementLimit>& limit) const {
  if (cost.below) {
    const auto below = below_.find(*cost.below);
    if (below != below_.end() && below->second >= kMostBelow) return Refusal::kBelow;
  }
  if (!limit) return Refusal::kNone;
  if (cost.bytes > limit->bytes || bytes_.of(user) > limit->bytes - cost.bytes) return Refusal::kBytes;
  return count_.has(user, 1) && bytes_.has(user, cost.bytes) ? Refusal::kNone : Refusal::kFull;
}

AnnouncementShares::Refusal AnnouncementShares::take(const AnnouncementCost& cost,
                                                     const std::optional<AnnouncementLimit>& limit) {
  const uid_t user = accounts_->user_of(cost.uid);
  const std::lock_guard lock(mutex_);
  const Refusal refusal = judge(user, cost, limit);
  if (refusal != Refusal::kNone) {
    crowded_ = true;
    return refusal;
  }
  if (cost.below) ++below_[*cost.below];
  count_.hold(user, 1);
  bytes_.hold(user, cost.bytes);
  accounts_->hold(user, cost.bytes);
  return refusal;
}

void AnnouncementShares::give_back(const AnnouncementCost& cost) noexcept {
  const uid_t user = accounts_->user_of(cost.uid);
  const std::lock_guard lock(mutex_);
  count_.give_back(user, 1);
  bytes_.give_back(user, cost.bytes);
  accounts_->release(user, cost.bytes);
  if (!cost.below) return;
  const auto below = below_.find(*cost.below);
  if (below != below_.end() && --below->second == 0) below_.erase(below);
}

AnnouncementShares::Share AnnouncementShares::of(uid_t user) const {
  const std::lock_guard lock(mutex_);
  return {count_.of(user), bytes_.of(user)};
}

}  // namespace tracer::internal
