// SPDX-License-Identifier: Apache-2.0
#include "process/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

namespace tracerd {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kRest{10};

}  // namespace

Signals::Signals() {
  ::sigemptyset(&wanted_);
  for (const int number : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGUSR1, SIGUSR2})
    ::sigaddset(&wanted_, number);
  left_ = wanted_;
  ::sigprocmask(SIG_BLOCK, &wanted_, &before_);
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, &pipe_before_);
  ::sigaction(SIGXFSZ, &action, &size_before_);
  action.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &action, &child_before_);
  fd_ = ::signalfd(-1, &wanted_, SFD_CLOEXEC | SFD_NONBLOCK);
}

Signals::~Signals() {
  // What has come meanwhile, such as the interrupt that the command died of, must not kill now.
  end_is_asked_for();
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
  end_round();
  bool asked = false;
  while (const auto signal = read_one()) asked = asks_for_end(*signal) || asked;
  end_round();
  return asked;
}

milliseconds Signals::rest() const noexcept {
  return std::chrono::ceil<milliseconds>(rests_until_ - steady_clock::now());
}

pollfd Signals::to_poll() const noexcept { return {rest() > milliseconds(0) ? -1 : fd_, POLLIN, 0}; }

int Signals::timeout(int longest) const noexcept {
  const auto left = rest();
  return left > milliseconds(0) && left < milliseconds(longest) ? static_cast<int>(left.count()) : longest;
}

std::optional<Signal> Signals::next() noexcept {
  if (rest() > milliseconds(0)) return std::nullopt;
  const auto signal = read_one();
  if (signal) {
    round_has_any_ = true;
  } else if (round_has_any_) {
    rests_until_ = steady_clock::now() + kRest;
    end_round();
  }
  return signal;
}

void Signals::end_round() noexcept {
  round_has_any_ = false;
  left_ = wanted_;
  ::signalfd(fd_, &left_, 0);
}

std::optional<Signal> Signals::read_one() noexcept {
  signalfd_siginfo info{};
  if (::read(fd_, &info, sizeof info) != sizeof info) return std::nullopt;
  ::sigdelset(&left_, static_cast<int>(info.ssi_signo));
  ::signalfd(fd_, &left_, 0);
  return Signal{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

}  // namespace tracerd
