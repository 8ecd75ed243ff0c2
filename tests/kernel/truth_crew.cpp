// SPDX-License-Identifier: Apache-2.0
#include "truth_crew.hpp"

#include "truth.hpp"
#include "truth_waits_data.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace truth {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;

std::uint64_t ns_of(long ms) { return static_cast<std::uint64_t>(ms) * kMillisecond; }

/// Threads that wait on a futex until the crew is let go.
class Waiters {
 public:
  explicit Waiters(int count) {
    for (int i = 0; i < count; ++i)
      threads_.emplace_back([this] {
        std::unique_lock lock(mutex_);
        done_changed_.wait(lock, [this] { return done_; });
      });
  }
  ~Waiters() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    done_changed_.notify_all();
    for (std::thread& each : threads_) each.join();
  }
  Waiters(const Waiters&) = delete;
  Waiters& operator=(const Waiters&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable done_changed_;
  bool done_ = false;
  std::vector<std::thread> threads_;
};

int compute_beside_waiters(long ms) {
  const Waiters waiters(7);
  burn(CLOCK_THREAD_CPUTIME_ID, ns_of(ms));
  return 0;
}

/// Four compute in turns under one lock.
int compute_in_turns(long turns, long ms_each) {
  std::mutex mutex;
  std::condition_variable turned;
  long turn = 0;
  std::vector<std::thread> all;
  for (long me = 0; me < 4; ++me)
    all.emplace_back([&, me] {
      for (;;) {
        std::unique_lock lock(mutex);
        turned.wait(lock, [&] { return turn >= turns || turn % 4 == me; });
        if (turn >= turns) break;
        burn(CLOCK_THREAD_CPUTIME_ID, ns_of(ms_each));
        ++turn;
        turned.notify_all();
      }
    });
  for (std::thread& each : all) each.join();
  return 0;
}

/// Of 5 ms: to hand the lock over takes some 30 us, in which two may run.
int take_turns(long ms) { return compute_in_turns(ms / 5, 5); }

/// So few that it takes no part of the time to hand the lock over, slow as that may be.
int take_long_turns(long ms) { return compute_in_turns(20, ms / 20); }

/// One waits for a file that another process serves, three wait for that one.
int read_for_workers(long ms) {
  const Waiters workers(3);
  std::thread([ms] { wait_for_data("served_file", ms); }).join();
  return 0;
}

void stay_on_first_cpu() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  ::sched_setaffinity(0, sizeof one, &one);
}

/// Eight compute on one CPU, together for so long.
int share_cpu(long ms) {
  stay_on_first_cpu();
  std::vector<std::thread> all;
  for (int i = 0; i < 8; ++i) all.emplace_back([ms] { burn(CLOCK_THREAD_CPUTIME_ID, ns_of(ms) / 8); });
  for (std::thread& each : all) each.join();
  return 0;
}

/// While another program wants that CPU all the time.
int beside_another(const std::function<void()>& work) {
  stay_on_first_cpu();
  const pid_t spinner = in_child([] {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    execute(call("cpu", {"600000000"}));
  });
  work();
  ::kill(spinner, SIGKILL);
  reap(spinner);
  return 0;
}

int share_cpu_beside_another(long ms) {
  return beside_another([ms] { share_cpu(ms); });
}

/// One computes, and stands in the queue for half of the time; another sleeps, and is awake again and again.
int compute_beside_sleeper_and_another(long ms) {
  return beside_another([ms] {
    std::atomic<bool> ended{false};
    std::thread sleeper([&ended] {
      while (!ended.load()) sleep_ms(1);
    });
    burn(CLOCK_THREAD_CPUTIME_ID, ns_of(ms));
    ended.store(true);
    sleeper.join();
  });
}

/// Two, each on a CPU of its own, start at the same moment and compute for so long; then one goes on for as long.
int compute_at_once(long ms) {
  const std::uint64_t begin = clock_ns(CLOCK_MONOTONIC) + 20 * kMillisecond;
  const auto until = [](std::uint64_t end) {
    while (clock_ns(CLOCK_MONOTONIC) < end) {
    }
  };
  std::thread other([&] { until(begin + ns_of(ms)); });
  until(begin + 2 * ns_of(ms));
  other.join();
  return 0;
}

/// The first thread computes and ends; the second sleeps, computes and ends the process.
int first_ends_first(long ms) {
  std::thread([ms] {
    sleep_ms(2 * ms);
    burn(CLOCK_THREAD_CPUTIME_ID, ns_of(ms));
    ::syscall(SYS_exit_group, 0);
  }).detach();
  burn(CLOCK_THREAD_CPUTIME_ID, ns_of(ms));
  ::syscall(SYS_exit, 0);
  return 0;
}

/// 2,000 short ones, four at a time.
int short_lives(long) {
  for (int round = 0; round < 500; ++round) {
    std::vector<std::thread> all;
    for (int i = 0; i < 4; ++i) all.emplace_back([] { burn(CLOCK_THREAD_CPUTIME_ID, 20'000); });
    for (std::thread& each : all) each.join();
  }
  return 0;
}

/// Until it is killed: one computes for so long, then all sleep for so long.
int compute_and_sleep_for_ever(long ms) {
  const Waiters waiters(3);
  for (;;) {
    burn(CLOCK_THREAD_CPUTIME_ID, ns_of(ms));
    sleep_ms(ms);
  }
}

/// Until it is killed: one never leaves its CPU of its own will, another sleeps in short turns.
int compute_beside_sleeper_for_ever(long) {
  std::thread([] {
    for (;;) sleep_ms(1);
  }).detach();
  for (;;) burn(CLOCK_THREAD_CPUTIME_ID, 1000 * kMillisecond);
}

}  // namespace

int crew(const Arguments& arguments) {
  static const std::map<std::string, std::function<int(long)>> all = {
      {"compute_beside_waiters", compute_beside_waiters},
      {"take_turns", take_turns},
      {"take_long_turns", take_long_turns},
      {"read_for_workers", read_for_workers},
      {"share_cpu", share_cpu},
      {"share_cpu_beside_another", share_cpu_beside_another},
      {"compute_beside_sleeper_and_another", compute_beside_sleeper_and_another},
      {"compute_at_once", compute_at_once},
      {"first_ends_first", first_ends_first},
      {"short_lives", short_lives},
      {"compute_and_sleep_for_ever", compute_and_sleep_for_ever},
      {"compute_beside_sleeper_for_ever", compute_beside_sleeper_for_ever},
  };
  return all.at(arguments.at(0))(number(arguments, 1));
}

}  // namespace truth
