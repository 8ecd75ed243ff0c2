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

/// SIGINT, SIGTERM, SIGHUP or SIGQUIT.
bool asks_for_end(const Signal& signal) noexcept;

/// Receives signals as data. For its lifetime they are blocked in this thread; SIGPIPE and SIGXFSZ are ignored, as a
/// reader that goes away and a file that may not grow are errors of that file; and SIGCHLD is not ignored, as that
/// would hide how the command ended.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int fd() const noexcept { return fd_; }
  /// The next one; does not wait.
  std::optional<Signal> next() noexcept;
  /// Whether one of those that have come does so; none of them is left.
  bool end_is_asked_for() noexcept;
  /// Stops until SIGCONT, as ^Z asks for; not where no shell could continue it.
  void suspend() const noexcept;
  /// Makes mask and dispositions what they were before; for the command, between fork and exec.
  void restore() const noexcept;

 private:
  sigset_t before_{};
  struct sigaction pipe_before_ {};
  struct sigaction size_before_ {};
  struct sigaction child_before_ {};
  int fd_ = -1;
};

}  // namespace tracerd
