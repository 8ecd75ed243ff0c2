// SPDX-License-Identifier: Apache-2.0
#include "base/user_ids.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/number.hpp"

namespace tracer::internal {
std::vector<SubordinateIds> subordinate_ids(std::string_view text, uid_t (*uid_of)(std::string_view name)) {
  std::vector<SubordinateIds> ranges;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, first);
    const auto begin = parse_number<uid_t>(line.substr(first + 1, second - first - 1));
    const auto count = parse_number<std::uint64_t>(line.substr(second + 1));
    const uid_t owner = parse_number<uid_t>(name).value_or(uid_of(name));
    if (begin && count && *begin != 0 && owner != static_cast<uid_t>(-1)) ranges.push_back({owner, *begin, *count});
  }
  return ranges;
}

std::optional<uid_t> UserIds::user_of(uid_t uid) const noexcept {
  if (uid == 0) return 0;
  const SubordinateIds* found = nullptr;
  for (const SubordinateIds& range : ranges_) {
    if (uid < range.first || uid - range.first >= range.count) continue;
    if (found != nullptr && found->owner != range.owner) return std::nullopt;
    found = &range;
  }
  return found == nullptr ? uid : found->owner;
}

std::vector<SubordinateIds> UserIds::apart(uid_t nobody) const {
  constexpr std::uint64_t kEnd = std::uint64_t{1} << 32;
  std::set<std::uint64_t> bounds;
  for (const SubordinateIds& range : ranges_) {
    bounds.insert(range.first);
    bounds.insert(std::min(range.first + std::min(range.count, kEnd), kEnd));
  }
  std::vector<SubordinateIds> apart;
  for (auto bound = bounds.begin(); bound != bounds.end(); ++bound) {
    const auto next = std::next(bound);
    if (next == bounds.end()) break;
    const auto first = static_cast<uid_t>(*bound);
    const uid_t owner = user_of(first).value_or(nobody);
    if (owner != first) apart.push_back({owner, first, *next - *bound});
  }
  return apart;
}

bool UserIds::same(const std::optional<std::uint32_t>& one, const std::optional<std::uint32_t>& other) const noexcept {
  if (!one || !other) return false;
  const auto user = user_of(*one);
  return user && user == user_of(*other);
}

}  // namespace tracer::internal
