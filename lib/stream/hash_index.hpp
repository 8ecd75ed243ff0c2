// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tracer::internal {

/// Finds the numbers of things that are kept elsewhere, in the order of their numbers.
class HashIndex {
 public:
  /// The number for which same(number) holds, else that of a new one. Whoever is told `made` adds the thing itself.
  struct Found {
    std::uint32_t number = 0;
    bool made = false;
  };
  template <class Same>
  Found find_or_make(std::uint64_t hash, Same same) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    const auto mixed = mix(hash);
    for (std::size_t at = mixed & mask_;; at = (at + 1) & mask_) {
      Slot& slot = slots_[at];
      if (slot.number == kFree) {
        slot = {mixed, static_cast<std::uint32_t>(size_)};
        return {static_cast<std::uint32_t>(size_++), true};
      }
      if (slot.hash == mixed && same(slot.number)) return {slot.number, false};
    }
  }
  std::size_t size() const noexcept { return size_; }
  void clear() noexcept {
    if (size_ != 0) std::fill(slots_.begin(), slots_.end(), Slot());
    size_ = 0;
  }

 private:
  static constexpr std::uint32_t kFree = UINT32_MAX;
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t number = kFree;
  };

  static std::uint32_t mix(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>((hash * 0x9e3779b97f4a7c15u) >> 32);
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.number == kFree) continue;
      std::size_t at = slot.hash & mask_;
      while (slots_[at].number != kFree) at = (at + 1) & mask_;
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;  ///< A power of two of them, at most half of them taken.
  std::size_t mask_ = 0;
  std::size_t size_ = 0;
};

}  // namespace tracer::internal
