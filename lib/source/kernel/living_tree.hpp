// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "wire.h"

namespace tracer::internal {

/// A living tree on its way into a context: which of its processes are still to be named to the kernel, visit by visit.
class LivingTree {
 public:
  LivingTree(std::uint32_t top, std::uint32_t context_id) : top_(top), context_id_(context_id), to_name_{top} {}

  /// Rules that the next visit needs; of more than `most` the others' turn comes later.
  std::span<const std::uint32_t> to_name(std::size_t most) const;
  /// What a visit saw after the rules were given.
  void visited(std::span<const tracer_wire_thread> threads);
  /// All are in the context.
  bool done() const noexcept { return done_; }
  /// Whether this record, of the last visit, is the first to show that its process of the tree is in the context.
  bool changed(const tracer_wire_thread& thread);

 private:
  std::uint32_t top_;
  std::uint32_t context_id_;
  std::vector<std::uint32_t> to_name_;
  std::set<std::uint32_t> members_;  ///< By the last visit.
  std::set<std::uint32_t> told_;
  bool done_ = false;
};

}  // namespace tracer::internal
