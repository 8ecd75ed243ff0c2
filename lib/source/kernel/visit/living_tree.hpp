// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "wire.h"

namespace tracer::internal {

/// A living tree on its way into a context: which of its processes are still to be named to the kernel, visit by visit.
class LivingTree {
 public:
  LivingTree(std::uint32_t top, std::uint32_t context_id) : top_(top), context_id_(context_id), to_name_{top} {}

  /// Rules that the next visit needs, which begins here; of more than `most` the others' turn comes later.
  std::span<const std::uint32_t> name(std::size_t most);
  /// A record of the visit. True: it is the first to show that its process, which was named, is in the context.
  bool see(const tracer_wire_thread& thread);
  /// The visit is over.
  void visited();
  /// All are in the context.
  bool done() const noexcept { return done_; }

 private:
  std::uint32_t top_;
  std::uint32_t context_id_;
  std::vector<std::uint32_t> to_name_;
  std::set<std::uint32_t> named_;  ///< And not seen in the context yet.
  /// Of the visit: who is whose child, and in which context.
  std::multimap<std::uint32_t, std::uint32_t> children_;
  std::map<std::uint32_t, std::uint32_t> contexts_;
  bool adopted_ = false;
  bool done_ = false;
};

}  // namespace tracer::internal
