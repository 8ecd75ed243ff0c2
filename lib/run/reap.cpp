// SPDX-License-Identifier: Apache-2.0
#include "run/reap.hpp"

#include <sys/wait.h>

#include <cerrno>

namespace tracer::internal {

std::optional<int> reap(pid_t child) noexcept {
  int status = 0;
  pid_t reaped = 0;
  do {
    reaped = ::waitpid(child, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  return reaped == child ? std::optional(status) : std::nullopt;
}

}  // namespace tracer::internal
