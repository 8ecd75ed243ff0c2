// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <signal.h>

#include <chrono>
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

  /// What to wait for, with timeout(): nothing while it rests.
  pollfd to_poll() const noexcept;
  /// In milliseconds: `longest`, or until the rest is over.
  int timeout(int longest) const noexcept;
  /// The next one of this round; does not wait. A round has each number once, and after one that had any there is a
  /// rest: whoever may send signals must not keep tracerd busy with them.
  std::optional<Signal> next() noexcept;
  /// Whether one of those that have come does so; none of them is left.
  bool end_is_asked_for() noexcept;
  /// Stops until SIGCONT, as ^Z asks for; not where no shell could continue it.
  void suspend() const noexcept;
  /// Makes mask and dispositions what they were before; for the command, between fork and exec.
  void restore() const noexcept;

 private:
  std::chrono::milliseconds rest() const noexcept;
  std::optional<Signal> read_one() noexcept;
  void end_round() noexcept;

  sigset_t before_{};
  sigset_t wanted_{};
  sigset_t left_{};  ///< In this round.
  bool round_has_any_ = false;
  std::chrono::steady_clock::time_point rests_until_{};
  struct sigaction pipe_before_ {};
  struct sigaction size_before_ {};
  struct sigaction child_before_ {};
  int fd_ = -1;
};

}  // namespace tracerd
