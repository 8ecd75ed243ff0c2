// SPDX-License-Identifier: Apache-2.0
#include "serve/kept_findings.hpp"

#include <algorithm>

namespace tracer::internal {

void KeptFindings::note(const Event& event, const Owner& owner) {
  const auto key = static_cast<std::uint64_t>(event.get_if<Finding>()->finding_key);
  OfOwner& own = owners_[owner];
  if (!own.findings.insert_or_assign(key, event).second) return;
  own.order.push_back(key);
  ++size_;
  if (own.order.size() > kMostOfOwner) forget_oldest(own);
  if (size_ <= kMostOfAll) return;
  const auto most = std::max_element(owners_.begin(), owners_.end(), [](const auto& one, const auto& other) {
    return one.second.order.size() < other.second.order.size();
  });
  forget_oldest(most->second);
  if (most->second.order.empty()) owners_.erase(most);
}

void KeptFindings::forget_oldest(OfOwner& of_owner) {
  of_owner.findings.erase(of_owner.order.front());
  of_owner.order.pop_front();
  --size_;
}

std::vector<Finding> KeptFindings::seen_by(const Sight& sight, std::uint64_t since_ns) const {
  std::vector<Finding> seen;
  for (const auto& [owner, own] : owners_) {
    if (!may_see(sight, owner)) continue;
    for (const auto& [key, event] : own.findings)
      if (event.time_ns() >= since_ns) seen.push_back(*event.get_if<Finding>());
  }
  std::stable_sort(seen.begin(), seen.end(),
                   [](const Finding& one, const Finding& other) { return one.time_ns < other.time_ns; });
  if (seen.size() > kMostOfOwner) seen.erase(seen.begin(), seen.end() - kMostOfOwner);
  return seen;
}

}  // namespace tracer::internal
