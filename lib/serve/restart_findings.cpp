// SPDX-License-Identifier: Apache-2.0
#include "serve/restart_findings.hpp"

#include <algorithm>

namespace tracer::internal {

void KeptFindings::note(const Event& event, const Owner& owner) {
  const auto key = static_cast<std::uint64_t>(event.get_if<Finding>()->finding_key);
  findings_.put(key, owner.audience == Audience::kOwner ? owner.uid : 0, event.charge_bytes(), {event, owner});
}

std::vector<Finding> KeptFindings::seen_by(const Sight& sight, std::uint64_t since_ns) const {
  std::vector<const Event*> seen;
  findings_.each([&](std::uint64_t, const Kept& kept) {
    if (kept.event.time_ns() >= since_ns && may_see(sight, kept.owner)) seen.push_back(&kept.event);
  });
  const auto key = [](const Event* event) {
    return std::pair(event->time_ns(), static_cast<std::uint64_t>(event->get_if<Finding>()->finding_key));
  };
  std::sort(seen.begin(), seen.end(), [&](const Event* one, const Event* other) { return key(one) < key(other); });
  std::size_t bytes = 0;
  auto first = seen.end();
  while (first != seen.begin() && static_cast<std::size_t>(seen.end() - first) < kMostSeen) {
    bytes += (*std::prev(first))->charge_bytes();
    if (bytes > kMostBytesSeen) break;
    --first;
  }
  std::vector<Finding> findings;
  for (; first != seen.end(); ++first) findings.push_back(*(*first)->get_if<Finding>());
  return findings;
}

}  // namespace tracer::internal
