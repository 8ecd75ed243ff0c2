// SPDX-License-Identifier: Apache-2.0
#include "truth_rare.hpp"

#include <linux/sched.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <random>
#include <thread>

namespace truth {
namespace {

struct Pipe {
  Pipe() {
    if (::pipe(ends.data()) != 0) ::_exit(90);
  }
  void put() const {
    if (::write(ends[1], "x", 1) != 1) ::_exit(91);
  }
  void get() const {
    char byte = 0;
    if (::read(ends[0], &byte, 1) < 0) ::_exit(92);
  }
  std::array<int, 2> ends{-1, -1};
};

[[noreturn]] void be_one_of_crowd(const Pipe& all_made, const Pipe& ready, const Pipe& go) {
  ::close(all_made.ends[1]);
  ::close(go.ends[1]);
  all_made.get();
  std::thread second([&] { go.get(); });
  ready.put();
  go.get();
  second.join();
  ::_exit(7);
}

/// As fork(), with this id; the error when it can't be had.
pid_t fork_as(pid_t wanted) {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  arguments.set_tid = reinterpret_cast<std::uintptr_t>(&wanted);
  arguments.set_tid_size = 1;
  const long made = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  return made < 0 ? -errno : static_cast<pid_t>(made);
}

/// In one piece, as several write.
void report_pair(std::uint64_t first, std::uint64_t second) {
  const std::string line = std::to_string(first) + " " + std::to_string(second) + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) ::_exit(93);
}

void wait_for_leave() {
  char byte = 0;
  if (::read(STDIN_FILENO, &byte, 1) != 1) ::_exit(94);
}

}  // namespace

int threaded_crowd(const Arguments& arguments) {
  const long size = number(arguments, 0);
  const Pipe all_made;
  const Pipe ready;
  const Pipe go;
  long made = 0;
  // Threads take ids, too: the processes' shall lie side by side.
  for (; made < size; ++made) {
    const pid_t pid = ::fork();
    if (pid == 0) be_one_of_crowd(all_made, ready, go);
    if (pid < 0) break;
  }
  ::close(all_made.ends[1]);
  for (long told = 0; told < made; ++told) ready.get();
  ::close(go.ends[1]);
  int bad = made == size ? 0 : 1;
  for (int status = 0; ::wait(&status) > 0;)
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) bad = 2;
  return bad;
}

int exec_from_threads(const Arguments& arguments) {
  if (arguments.size() > 1) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    if (::sched_setaffinity(0, sizeof one, &one) != 0) return 2;
  }
  for (long round = 0; round < number(arguments, 0); ++round) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      std::atomic<int> computed{0};
      for (int thread = 0; thread < 2; ++thread)
        std::thread([&computed] {
          burn(CLOCK_THREAD_CPUTIME_ID, 5'000'000);
          ++computed;
          for (;;) continue;
        }).detach();
      while (computed < 2) ::usleep(100);
      // Goes ahead of the threads that it has ended, as soon as it may, and ends the sooner without libraries.
      const sched_param first{.sched_priority = 1};
      if (arguments.size() > 1) ::sched_setscheduler(0, SCHED_FIFO, &first);
      ::execl("/bin/busybox", "true", nullptr);
      ::execl("/bin/true", "true", nullptr);
      ::_exit(1);
    }
    rusage usage{};
    int status = 0;
    if (::wait4(pid, &status, 0, &usage) != pid || status != 0) return 1;
    report(static_cast<std::uint64_t>(pid));
    report(static_cast<std::uint64_t>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u);
  }
  return 0;
}

int scattered_crowd(const Arguments& arguments) {
  const Pipe go;
  std::minstd_rand dice(4711);
  long made = 0;
  while (made < number(arguments, 0)) {
    const pid_t pid = fork_as(static_cast<pid_t>(2000 + dice() % 28'000));
    if (pid == -EEXIST) continue;
    if (pid == 0) {
      ::close(go.ends[1]);
      go.get();
      ::_exit(0);
    }
    if (pid < 0) return 77;
    ++made;
  }
  ::close(go.ends[1]);
  while (::wait(nullptr) > 0) continue;
  return 0;
}

int pipe_waiters_apart(const Arguments& arguments) {
  const pid_t apart = static_cast<pid_t>(number(arguments, 0));
  const Pipe to_first;
  const Pipe to_second;
  for (pid_t candidate = 2000; candidate < 20'000; candidate += 37) {
    const pid_t first = fork_as(candidate);
    if (first == -EEXIST) continue;
    if (first < 0) return 77;
    if (first == 0) {
      to_first.get();
      ::_exit(0);
    }
    const pid_t second = fork_as(candidate + apart);
    if (second == 0) {
      for (int n = 0; n < 20; ++n) to_second.get();
      ::_exit(0);
    }
    if (second < 0) {
      ::kill(first, SIGKILL);
      ::waitpid(first, nullptr, 0);
      if (second != -EEXIST) return 77;
      continue;
    }
    for (int n = 0; n < 20; ++n) {
      ::usleep(10'000);
      to_second.put();
    }
    ::waitpid(second, nullptr, 0);
    ::usleep(50'000);
    to_first.put();
    ::waitpid(first, nullptr, 0);
    report(static_cast<std::uint64_t>(first));
    report(static_cast<std::uint64_t>(::getpid()));
    return 0;
  }
  return 78;
}

int quiet_crowd(const Arguments& arguments) {
  constexpr long kOneComputesOf = 500;
  const Pipe ready;
  const Pipe go;
  long made = 0;
  for (; made < number(arguments, 0); ++made) {
    const pid_t pid = ::fork();
    if (pid < 0) return 1;
    if (pid != 0) continue;
    ::close(go.ends[1]);
    const bool computes = made % kOneComputesOf == 0;
    if (computes) burn(CLOCK_PROCESS_CPUTIME_ID, 60'000'000);
    ready.put();
    go.get();
    if (computes) {
      burn(CLOCK_PROCESS_CPUTIME_ID, 120'000'000);
      report_pair(static_cast<std::uint64_t>(::getpid()), clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    }
    ::_exit(0);
  }
  for (long told = 0; told < made; ++told) ready.get();
  report(static_cast<std::uint64_t>(made));
  wait_for_leave();
  ::close(go.ends[1]);
  while (::wait(nullptr) > 0) continue;
  return 0;
}

int threads_beyond_room(const Arguments& arguments) {
  const Pipe go;
  std::vector<std::thread> held;
  for (long n = 0; n < number(arguments, 0); ++n) held.emplace_back([&go] { go.get(); });
  report(1);
  wait_for_leave();
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (long n = 0; n < number(arguments, 0); ++n) std::thread([] {}).join();
    ::_exit(0);
  }
  ::waitpid(pid, nullptr, 0);
  for (std::size_t n = 0; n < held.size(); ++n) go.put();
  for (std::thread& each : held) each.join();
  return 0;
}

int crews_beyond_room(const Arguments& arguments) {
  const Pipe ready;
  const Pipe go;
  for (long n = 0; n < number(arguments, 0); ++n) {
    if (::fork() != 0) continue;
    ::close(go.ends[1]);
    std::thread second([&go] { go.get(); });
    ready.put();
    go.get();
    second.join();
    for (int more = 0; more < 10; ++more) std::thread([] {}).join();
    ::_exit(0);
  }
  for (long told = 0; told < number(arguments, 0); ++told) ready.get();
  report(1);
  wait_for_leave();
  ::close(go.ends[1]);
  while (::wait(nullptr) > 0) continue;
  return 0;
}

}  // namespace truth
