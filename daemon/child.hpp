// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "signals.hpp"
#include "user.hpp"

namespace tracerd {

/// The command: forked at once, executed only when release() lets it, so that it can be traced from its first
/// instruction.
class Child {
 public:
  /// The command gets the signal mask and dispositions from before `signals`. Throws tracer::Error(kInternal).
  Child(const std::vector<std::string>& words, const std::optional<User>& user, const Signals& signals);
  /// A command that was never released ends here; one that runs goes on.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const noexcept { return pid_; }
  /// Lets it execute. Throws tracer::Error when it could not: kCommandNotFound, kCommandNotExecutable, kPermission.
  void release();
  /// Its wait status once it has ended; does not wait.
  std::optional<int> ended() noexcept;
  void signal(int number) const noexcept;

 private:
  std::string name_;
  pid_t pid_ = -1;
  int gate_ = -1;
  int report_ = -1;
  bool reaped_ = false;
};

}  // namespace tracerd
