// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.hpp"

namespace tracer::internal {

/// Hears at once when a process has ended, and, from Linux 6.15 on, how: by pidfds, as many as there is room for. One
/// thread.
class ExitWatch {
 public:
  /// A part of what the caller may open, which is the caller's own.
  static constexpr std::size_t kMost = 1024;

  /// Throws std::system_error.
  ExitWatch();

  /// Readable when one has ended.
  int fd() const noexcept { return epoll_.get(); }
  /// Where there is no room, nothing happens.
  void add(std::uint32_t pid);
  /// Those that have ended since the last call: they may not have been waited for yet.
  std::vector<std::uint32_t> take_ended();
  /// As waitpid() gives it, of one that was waited for; absent: not known.
  std::optional<int> wait_status(std::uint32_t pid) const;
  void forget(std::uint32_t pid) { watched_.erase(pid); }

 private:
  UniqueFd epoll_;
  std::size_t most_;
  std::unordered_map<std::uint32_t, UniqueFd> watched_;
};

}  // namespace tracer::internal
