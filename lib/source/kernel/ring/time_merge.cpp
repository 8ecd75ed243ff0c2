// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/ring/time_merge.hpp"

#include "source/kernel/ring/decoder.hpp"

namespace tracer::internal {

std::size_t TimeMerge::bytes() const noexcept {
  std::size_t sum = 0;
  for (const HeldRecords& ring : held_) sum += ring.bytes();
  return sum;
}

bool TimeMerge::release(std::uint64_t until_ns, const TakeRecord& take) {
  // There are sixteen rings at most: a look at each is cheaper than a heap.
  for (;;) {
    HeldRecords* first = nullptr;
    std::uint64_t first_ns = 0;
    for (HeldRecords& ring : held_) {
      if (ring.empty()) continue;
      const std::uint64_t time_ns = time_of_wire(ring.front());
      if (time_ns > until_ns || (first != nullptr && time_ns >= first_ns)) continue;
      first = &ring;
      first_ns = time_ns;
    }
    if (first == nullptr) return false;
    struct Popped {
      HeldRecords* ring;
      ~Popped() { ring->pop(); }
    } popped{first};
    if (!take(first->front())) return true;
  }
}

}  // namespace tracer::internal
