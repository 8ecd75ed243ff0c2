// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <malloc.h>

#include <cstddef>

namespace tracerd {

/// Gives back what is free, and from now on does so early. Once it has freed a block as large as the kernel's type
/// information, glibc keeps twice as much.
inline void keep_memory_small() noexcept {
#ifdef __GLIBC__
  constexpr int kMostFree = 1 << 20;
  ::mallopt(M_TRIM_THRESHOLD, kMostFree);
  ::mallopt(M_MMAP_THRESHOLD, kMostFree);
  ::malloc_trim(0);
#endif
}

/// Now and then: what a storm of small things has left free between those that stay.
inline void give_back_free_memory() noexcept {
#ifdef __GLIBC__
  constexpr std::size_t kWorthIt = 8 << 20;
  if (::mallinfo2().fordblks > kWorthIt) ::malloc_trim(0);
#endif
}

}  // namespace tracerd
