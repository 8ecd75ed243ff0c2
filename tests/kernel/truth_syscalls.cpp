// SPDX-License-Identifier: Apache-2.0
#include "truth_syscalls.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "truth.hpp"
#include "truth_tools.hpp"

namespace truth {
namespace {

void call_often(long number, int times) {
  for (int i = 0; i < times; ++i) ::syscall(number);
}

int plain() {
  call_often(SYS_getppid, 1000);
  for (int i = 0; i < 500; ++i) ::syscall(SYS_openat, AT_FDCWD, "/nowhere/at/all", O_RDONLY, 0);
  const timespec millisecond{0, 1'000'000};
  for (int i = 0; i < 100; ++i) ::syscall(SYS_nanosleep, &millisecond, nullptr);
  // The last failure counts, not the last call.
  ::syscall(SYS_dup, -1);
  ::syscall(SYS_dup, 1);
  return 0;
}

int threads() {
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i) all.emplace_back([] { call_often(SYS_getppid, 2500); });
  for (std::thread& each : all) each.join();
  return 0;
}

void ignore(int) {}

void handle_alarms(int flags) {
  struct sigaction action {};
  action.sa_handler = ignore;
  action.sa_flags = flags;
  ::sigaction(SIGALRM, &action, nullptr);
}

void alarm_in(int milliseconds) {
  itimerval timer{};
  timer.it_value.tv_usec = milliseconds * 1000;
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

/// A read in whose middle a signal comes, and which a child answers later. What came of it, or the negative errno.
int read_answer() {
  int ends[2];
  if (::pipe2(ends, 0) != 0) return 1;
  const pid_t child = ::fork();
  if (child == 0) {
    ::usleep(100'000);
    ::syscall(SYS_write, ends[1], "x", 1);
    ::_exit(0);
  }
  alarm_in(50);
  char byte = 0;
  const long answer = ::syscall(SYS_readv, ends[0], std::vector<iovec>{{&byte, 1}}.data(), 1);
  const int error = errno;
  alarm_in(0);
  ::waitpid(child, nullptr, 0);
  return answer < 0 ? -error : static_cast<int>(answer);
}

/// Goes on after a handler: one call that returned, however often it was begun.
int restarted() {
  handle_alarms(SA_RESTART);
  return read_answer() == 1 ? 0 : 2;
}

/// Given up for a handler.
int interrupted() {
  handle_alarms(0);
  return read_answer() == -EINTR ? 0 : 2;
}

/// Goes on after a stop without a handler: by restart_syscall, which the program never made.
int stopped() {
  const pid_t own = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    ::usleep(30'000);
    ::kill(own, SIGSTOP);
    ::usleep(30'000);
    ::kill(own, SIGCONT);
    ::_exit(0);
  }
  const timespec time{0, 150'000'000};
  if (::syscall(SYS_nanosleep, &time, nullptr) != 0) return 2;
  ::waitpid(child, nullptr, 0);
  return 0;
}

void* execute_again(void*) { execute(call("make_calls", {"few"})); }

/// Another thread than the first executes.
int executed() {
  pthread_t thread;
  ::pthread_create(&thread, nullptr, execute_again, nullptr);
  for (;;) ::pause();
}

int few() {
  call_often(SYS_getppid, 7);
  return 0;
}

}  // namespace

int make_calls(const Arguments& a) {
  static const std::map<std::string, std::function<int()>> kinds = {
      {"plain", plain},         {"threads", threads},  {"few", few}, {"stopped", stopped}, {"interrupted", interrupted},
      {"restarted", restarted}, {"executed", executed}};
  return kinds.at(a.at(0))();
}

int call_when_told(const Arguments&) {
  char byte = 0;
  report(1);
  if (::syscall(SYS_read, STDIN_FILENO, &byte, 1) != 1) return 1;
  call_often(SYS_getppid, 100);
  report(2);
  return ::syscall(SYS_read, STDIN_FILENO, &byte, 1) == 1 ? 0 : 1;
}

}  // namespace truth
