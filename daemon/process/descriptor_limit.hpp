// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

namespace tracerd {

/// As many open files as the process may have.
inline void raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace tracerd
