// SPDX-License-Identifier: Apache-2.0
#include "signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

namespace tracerd {

Signals::Signals() {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int number : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGUSR1, SIGUSR2})
    ::sigaddset(&wanted, number);
  ::sigprocmask(SIG_BLOCK, &wanted, &before_);
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, &pipe_before_);
  ::sigaction(SIGXFSZ, &action, &size_before_);
  action.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &action, &child_before_);
  fd_ = ::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

Signals::~Signals() {
  // What has come meanwhile, such as the interrupt that the command died of, must not kill now.
  while (next()) {
  }
  ::close(fd_);
  restore();
}

void Signals::restore() const noexcept {
  ::sigaction(SIGPIPE, &pipe_before_, nullptr);
  ::sigaction(SIGXFSZ, &size_before_, nullptr);
  ::sigaction(SIGCHLD, &child_before_, nullptr);
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

void Signals::suspend() const noexcept {
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTSTP);
  ::raise(SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
}

bool asks_for_end(const Signal& signal) noexcept {
  return signal.number == SIGINT || signal.number == SIGTERM || signal.number == SIGHUP || signal.number == SIGQUIT;
}

bool Signals::end_is_asked_for() noexcept {
  bool asked = false;
  while (const auto signal = next()) asked = asks_for_end(*signal) || asked;
  return asked;
}

std::optional<Signal> Signals::next() noexcept {
  signalfd_siginfo info{};
  if (::read(fd_, &info, sizeof info) != sizeof info) return std::nullopt;
  return Signal{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

}  // namespace tracerd
