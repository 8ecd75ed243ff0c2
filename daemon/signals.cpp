// SPDX-License-Identifier: Apache-2.0
#include "signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

namespace tracerd {

Signals::Signals() {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int number : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) ::sigaddset(&wanted, number);
  ::sigprocmask(SIG_BLOCK, &wanted, &before_);
  fd_ = ::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

Signals::~Signals() {
  ::close(fd_);
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<Signal> Signals::next() noexcept {
  signalfd_siginfo info{};
  if (::read(fd_, &info, sizeof info) != sizeof info) return std::nullopt;
  return Signal{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

}  // namespace tracerd
