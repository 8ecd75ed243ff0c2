// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tracer::internal {

/// The most that spans of time can add up to of which no two overlap: what several did is at least what those did that
/// came one after another. Spans come in the order of their ends. Bounded: where it has forgotten how the sum grew, it
/// finds less.
class Chain {
 public:
  void add(std::uint64_t from_ns, std::uint64_t to_ns, std::uint64_t amount) {
    if (!best_.empty()) to_ns = std::max(to_ns, best_.back().first);
    const auto after = std::upper_bound(best_.begin(), best_.end(), from_ns,
                                        [](std::uint64_t time_ns, const auto& entry) { return time_ns < entry.first; });
    const std::uint64_t with = (after == best_.begin() ? 0 : std::prev(after)->second) + amount;
    if (with <= best()) return;
    if (best_.size() >= kMost) best_.erase(best_.begin(), best_.begin() + kMost / 2);
    best_.emplace_back(to_ns, with);
  }
  std::uint64_t best() const noexcept { return best_.empty() ? 0 : best_.back().second; }
  void clear() noexcept { best_.clear(); }
  /// Its memory, too.
  void release() noexcept { std::vector<std::pair<std::uint64_t, std::uint64_t>>().swap(best_); }

 private:
  static constexpr std::size_t kMost = 512;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> best_;  ///< By end: the most up to it.
};

}  // namespace tracer::internal
