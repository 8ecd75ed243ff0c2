// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/finding.hpp>

#include "serve/sight.hpp"

namespace tracer::internal {

/// The last state of findings, for who may see them. Bounded for each owner, who loses their own oldest ones; and for
/// all together, where who holds most loses the oldest.
class KeptFindings {
 public:
  static constexpr std::size_t kMostOfOwner = 4096;
  static constexpr std::size_t kMostOfAll = 65536;

  /// `event`: a Finding.
  void note(const Event& event, const Owner& owner);
  /// Those since then, at most kMostOfOwner: the newest, the oldest of them first.
  std::vector<Finding> seen_by(const Sight& sight, std::uint64_t since_ns) const;
  std::size_t size() const noexcept { return size_; }

 private:
  struct OfOwner {
    std::map<std::uint64_t, Event> findings;  ///< By key.
    std::deque<std::uint64_t> order;          ///< Their keys: as they came first.
  };

  void forget_oldest(OfOwner& of_owner);

  std::map<Owner, OfOwner> owners_;
  std::size_t size_ = 0;
};

}  // namespace tracer::internal
