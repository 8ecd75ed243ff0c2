// SPDX-License-Identifier: Apache-2.0
#include "source/proc/user_namespace.hpp"

#include <sys/stat.h>

namespace tracer::internal {

bool in_user_namespace() noexcept {
  constexpr ino_t kInitial = 0xEFFFFFFD;  // PROC_USER_INIT_INO, since 3.8.
  struct stat status {};
  return ::stat("/proc/self/ns/user", &status) == 0 && status.st_ino != kInitial;
}

}  // namespace tracer::internal
