// SPDX-License-Identifier: Apache-2.0
#include "child.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>

#include <tracer/error.hpp>

namespace tracerd {
namespace {

using tracer::Error;
using tracer::ErrorCode;

enum class Failed : int { kUser, kExec };
struct Report {
  Failed what;
  int error_number;
};

[[noreturn]] void run_child(const std::vector<char*>& argv, const std::optional<User>& user, const Signals& signals,
                            int gate, int report) {
  char go = 0;
  ssize_t got = 0;
  do {
    got = ::read(gate, &go, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) ::_exit(125);
  Report failure{Failed::kUser, 0};
  if (!user || become(*user)) {
    failure.what = Failed::kExec;
    if (user) {
      ::setenv("USER", user->name.c_str(), 1);
      ::setenv("LOGNAME", user->name.c_str(), 1);
      if (user->home) ::setenv("HOME", user->home->c_str(), 1);
    }
    signals.restore();
    ::execvp(argv.front(), argv.data());
  }
  failure.error_number = errno;
  [[maybe_unused]] const ssize_t put = ::write(report, &failure, sizeof failure);
  ::_exit(failure.error_number == ENOENT ? 127 : 126);
}

}  // namespace

Child::Child(const std::vector<std::string>& words, const std::optional<User>& user, const Signals& signals)
    : name_(words.front()) {
  int gate[2];
  int report[2];
  if (::pipe2(gate, O_CLOEXEC) != 0 || ::pipe2(report, O_CLOEXEC) != 0)
    throw Error({ErrorCode::kInternal, errno, "can't make a pipe", {}, {}});
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(gate[1]);
    ::close(report[0]);
    run_child(argv, user, signals, gate[0], report[1]);
  }
  const int error_number = errno;
  ::close(gate[0]);
  ::close(report[1]);
  gate_ = gate[1];
  report_ = report[0];
  if (pid_ < 0) throw Error({ErrorCode::kInternal, error_number, "can't fork", {}, {}});
}

Child::~Child() {
  const bool released = gate_ < 0;
  if (!released) ::close(gate_);
  if (report_ >= 0) ::close(report_);
  if (!released && pid_ > 0 && !reaped_) ::waitpid(pid_, nullptr, 0);
}

void Child::release() {
  const char go = 1;
  [[maybe_unused]] const ssize_t put = ::write(gate_, &go, 1);
  ::close(gate_);
  gate_ = -1;
  Report failure{};
  ssize_t got = 0;
  do {
    got = ::read(report_, &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof failure) return;
  ::waitpid(pid_, nullptr, 0);
  reaped_ = true;
  const int error_number = failure.error_number;
  if (failure.what == Failed::kUser)
    throw Error({ErrorCode::kPermission, error_number, "can't become the user to run as", {}, {}});
  if (error_number == ENOENT)
    throw Error({ErrorCode::kCommandNotFound,
                 error_number,
                 fmt::format("{}: command not found", name_),
                 "check its spelling and the PATH; for a script, that its interpreter exists",
                 {}});
  throw Error({ErrorCode::kCommandNotExecutable,
               error_number,
               fmt::format("{}: can't be executed", name_),
               "check that it is a program and that its execute permission is set",
               {}});
}

std::optional<int> Child::ended() noexcept {
  int status = 0;
  if (reaped_ || ::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  reaped_ = true;
  return status;
}

void Child::signal(int number) const noexcept {
  if (!reaped_) ::kill(pid_, number);
}

}  // namespace tracerd
