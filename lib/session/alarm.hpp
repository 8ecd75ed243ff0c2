// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "base/unique_fd.hpp"
#include "base/wakeup.hpp"

namespace tracer::internal {

/// The one descriptor that a session's reader, or its host, waits for: readable when the source has something, when the
/// session's timer is due, or after ring(). Any thread.
class Alarm {
 public:
  /// Throws Error(kNoMemory).
  Alarm();

  int fd() const noexcept { return epoll_.get(); }
  /// Wakes whoever waits, once; async-signal-safe.
  void ring() noexcept;
  /// From now on also when the source has something, and every `period`. Throws Error(kNoMemory).
  void start(int source_fd, std::chrono::milliseconds period);
  /// After start().
  void set_period(std::chrono::milliseconds period) noexcept;
  /// Waits until it is readable, or `other_fd`, if that is not -1; a negative timeout waits without a limit.
  void wait(std::chrono::milliseconds timeout, int other_fd = -1) const noexcept;
  /// What it rang for is taken care of now.
  void reset() noexcept;

 private:
  UniqueFd epoll_;
  UniqueFd timer_;
  Wakeup bell_;
};

/// Whether it is readable now.
bool is_readable(int fd) noexcept;

/// Waits until either is readable; -1 is none. A negative timeout waits without a limit.
void wait_for(int fd, std::chrono::milliseconds timeout, int other_fd = -1) noexcept;

}  // namespace tracer::internal
