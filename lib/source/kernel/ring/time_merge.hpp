// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "source/kernel/ring/held_records.hpp"

namespace tracer::internal {

/// Holds the records of several rings, and gives them in the order of the times in their headers.
class TimeMerge {
 public:
  explicit TimeMerge(std::size_t rings) : held_(rings) {}

  void hold(std::size_t ring, std::span<const std::byte> record) { held_[ring].hold(record); }
  /// Gives those of up to this time. True: `take` stopped it. Throws what it throws, behind that record.
  bool release(std::uint64_t until_ns, const TakeRecord& take);

  /// What is held of one ring, or of all, as HeldRecords::bytes().
  std::size_t bytes(std::size_t ring) const noexcept { return held_[ring].bytes(); }
  std::size_t bytes() const noexcept;

 private:
  std::vector<HeldRecords> held_;
};

}  // namespace tracer::internal
