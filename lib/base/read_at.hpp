// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <span>

namespace tracer::internal {

/// Fills `bytes` from that place of a file. Returns how many it has read: fewer at the end of the file, or at an error.
inline std::size_t read_at(int fd, std::span<std::byte> bytes, off_t at) noexcept {
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t more = ::pread(fd, bytes.data() + got, bytes.size() - got, at + static_cast<off_t>(got));
    if (more <= 0) break;
    got += static_cast<std::size_t>(more);
  }
  return got;
}

}  // namespace tracer::internal
