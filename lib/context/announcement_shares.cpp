// SPDX-License-Identifier: Apache-2.0
#include "context/announcement_shares.hpp"

namespace tracer::internal {

AnnouncementShares::Refusal AnnouncementShares::judge(const AnnouncementCost& cost,
                                                      const std::optional<AnnouncementLimit>& limit) const {
  if (cost.below) {
    const auto below = below_.find(*cost.below);
    if (below != below_.end() && below->second >= kMostBelow) return Refusal::kBelow;
  }
  if (!limit) return Refusal::kNone;
  const auto known = of_user_.find(cost.uid);
  const Share held = known == of_user_.end() ? Share() : known->second;
  if (held.count >= limit->count) return Refusal::kCount;
  if (cost.bytes > limit->bytes || held.bytes > limit->bytes - cost.bytes) return Refusal::kBytes;
  if (all_.count >= capacity_ || all_.bytes + cost.bytes > kMostBytes) return Refusal::kFull;
  return Refusal::kNone;
}

AnnouncementShares::Refusal AnnouncementShares::take(const AnnouncementCost& cost,
                                                     const std::optional<AnnouncementLimit>& limit) {
  const std::lock_guard lock(mutex_);
  const Refusal refusal = judge(cost, limit);
  if (refusal != Refusal::kNone) {
    crowded_ = true;
    return refusal;
  }
  Share& share = of_user_[cost.uid];
  if (cost.below) ++below_[*cost.below];
  ++share.count;
  share.bytes += cost.bytes;
  ++all_.count;
  all_.bytes += cost.bytes;
  return refusal;
}

void AnnouncementShares::give_back(const AnnouncementCost& cost) noexcept {
  const std::lock_guard lock(mutex_);
  const auto known = of_user_.find(cost.uid);
  if (known == of_user_.end()) return;
  known->second.bytes -= cost.bytes;
  if (--known->second.count == 0) of_user_.erase(known);
  --all_.count;
  all_.bytes -= cost.bytes;
  if (!cost.below) return;
  const auto below = below_.find(*cost.below);
  if (below != below_.end() && --below->second == 0) below_.erase(below);
}

AnnouncementShares::Share AnnouncementShares::of(uid_t uid) const {
  const std::lock_guard lock(mutex_);
  const auto known = of_user_.find(uid);
  return known == of_user_.end() ? Share() : known->second;
}

}  // namespace tracer::internal
