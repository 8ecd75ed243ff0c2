// SPDX-License-Identifier: Apache-2.0
#include "truth_signals.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <functional>
#include <map>

#include "truth_tools.hpp"
#include "truth_waits_data.hpp"

namespace truth {
namespace {

struct Way {
  std::function<void()> child;
  std::function<void(pid_t)> parent;
};

void await_signal() {
  for (;;) ::pause();
}

void touch_nothing() {
  volatile int* const nowhere = nullptr;
  *nowhere = 1;  // NOLINT(clang-analyzer-core.NullDereference)
}

void write_in_vain() {
  int ends[2] = {-1, -1};
  if (::pipe(ends) != 0) return;
  ::close(ends[0]);
  [[maybe_unused]] const ssize_t put = ::write(ends[1], "x", 1);
}

void write_in_vain_and_exit() {
  ::signal(SIGPIPE, SIG_IGN);
  write_in_vain();
  ::_exit(7);
}

void let_alarm_end() {
  itimerval timer{};
  timer.it_value.tv_usec = 1000;
  ::setitimer(ITIMER_REAL, &timer, nullptr);
  await_signal();
}

void queue(pid_t child) {
  sigval value{};
  ::sigqueue(child, SIGTERM, value);
}

const std::map<std::string, Way>& ways() {
  static const std::map<std::string, Way> all = {
      {"fault", {touch_nothing, {}}},
      {"pipe", {write_in_vain, {}}},
      {"ignored_pipe", {write_in_vain_and_exit, {}}},
      {"alarm", {let_alarm_end, {}}},
      {"own", {[] { ::raise(SIGTERM); }, {}}},
      {"kill", {await_signal, [](pid_t child) { ::kill(child, SIGKILL); }}},
      {"thread", {await_signal, [](pid_t child) { ::syscall(SYS_tgkill, child, child, SIGTERM); }}},
      {"queue", {await_signal, queue}},
      {"handled_first",
       {await_signal,
        [](pid_t child) {
          ::kill(child, SIGUSR1);
          ::kill(child, SIGTERM);
        }}},
  };
  return all;
}

}  // namespace

int end_child(const std::vector<std::string>& arguments) {
  const Way& way = ways().at(arguments.at(0));
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  const Pipe ready;
  const pid_t child = in_child([&] {
    ::signal(SIGUSR1, [](int) {});
    ready.put(1);
    way.child();
  });
  ready.take(1);
  if (way.parent) way.parent(child);
  reap(child);
  report(static_cast<std::uint64_t>(::getpid()));
  report(static_cast<std::uint64_t>(child));
  return 0;
}

}  // namespace truth
