// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <optional>

namespace tracerd {

/// A signal that came to tracerd.
struct Signal {
  int number = 0;
  bool from_terminal = false;  ///< By a key: the whole foreground group has it, the command too.
};

/// Receives signals as data. Blocks them in this thread for its lifetime.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int fd() const noexcept { return fd_; }
  /// The next one; does not wait.
  std::optional<Signal> next() noexcept;
  /// The mask as it was before.
  const sigset_t& before() const noexcept { return before_; }

 private:
  sigset_t before_{};
  int fd_ = -1;
};

}  // namespace tracerd
