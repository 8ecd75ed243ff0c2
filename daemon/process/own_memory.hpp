// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <malloc.h>

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

}  // namespace tracerd
