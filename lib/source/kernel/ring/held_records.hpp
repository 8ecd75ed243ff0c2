// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tracer::internal {

/// Takes a record, which is valid during the call, and says whether to go on.
using TakeRecord = std::function<bool(std::span<const std::byte>)>;

/// Records that have left a ring and were not yielded yet, in their order. May throw std::bad_alloc where it holds.
class HeldRecords {
 public:
  void hold(std::span<const std::byte> record);

  bool empty() const noexcept { return begin_ == bytes_.size(); }
  /// With what a ring puts before each: as many as they took up there.
  std::size_t bytes() const noexcept { return bytes_.size() - begin_; }
  /// Not of an empty one; valid until the next call of hold() or pop().
  std::span<const std::byte> front() const noexcept;
  void pop() noexcept;

 private:
  std::vector<std::byte> bytes_;
  std::size_t begin_ = 0;
};

}  // namespace tracer::internal
