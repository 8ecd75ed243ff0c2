// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/finding.hpp>

#include "base/bounded.hpp"
#include "serve/sight.hpp"

namespace tracer::internal {

/// The last state of findings, for who may see them, at their owners' charge.
class KeptFindings {
 public:
  static constexpr std::size_t kMostBytes = 12u << 20;
  /// That one reply has.
  static constexpr std::size_t kMostSeen = 4096;
  static constexpr std::size_t kMostBytesSeen = 2u << 20;

  explicit KeptFindings(std::shared_ptr<Accounts> accounts = std::make_shared<Accounts>())
      : findings_(kMostBytes, {}, std::move(accounts)) {}

  /// `event`: a Finding.
  void note(const Event& event, const Owner& owner);
  /// Those since then: the newest that fit into one reply, the oldest of them first.
  std::vector<Finding> seen_by(const Sight& sight, std::uint64_t since_ns) const;
  std::size_t size() const noexcept { return findings_.size(); }

 private:
  struct Kept {
    Event event;
    Owner owner;
  };
  Bounded<std::uint64_t, Kept> findings_;  ///< By key.
};

}  // namespace tracer::internal
