// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include <tracer/error.hpp>

#include "base/unique_fd.hpp"

namespace tracer::internal {

/// A descriptor that any thread, or a signal handler, can make readable.
class Wakeup {
 public:
  /// Throws Error(kNoMemory).
  Wakeup() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!fd_)
      throw Error({ErrorCode::kNoMemory,
                   errno,
                   "can't make a descriptor to wait on",
                   "raise the limit of open files (ulimit -n)",
                   {}});
  }

  int fd() const noexcept { return fd_.get(); }
  void set() const noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t put = ::write(fd_.get(), &one, sizeof one);
  }
  void clear() const noexcept {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(fd_.get(), &count, sizeof count);
  }

 private:
  UniqueFd fd_;
};

}  // namespace tracer::internal
