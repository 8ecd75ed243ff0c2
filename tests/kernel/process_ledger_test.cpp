// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <tracer/session.hpp>

#include "capture.hpp"
#include "ledger_expect.hpp"
#include "truth.hpp"

namespace {

using expect::distance;
using expect::kMillisecond;

bool emulated() { return std::getenv("TRACER_EMULATED") != nullptr; }

/// 2 %.
std::uint64_t close_to(std::uint64_t truth_ns) { return truth_ns / 50; }

/// What all CPUs have spent in interrupts, which is nobody's CPU time; emulated, they take a good part of it.
std::uint64_t interrupts_ns() {
  std::ifstream line("/proc/stat");
  std::string name;
  std::uint64_t user = 0, nice = 0, system = 0, idle = 0, io_wait = 0, hard = 0, soft = 0;
  line >> name >> user >> nice >> system >> idle >> io_wait >> hard >> soft;
  return (hard + soft) * 1'000'000'000u / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
}

struct Crew {
  tracer::Ledger threads;
  tracer::ProcessLedger whole;
  std::uint64_t interrupts_ns = 0;  ///< Meanwhile.
};

/// What is a moment elsewhere is long on an emulated machine: of ten times as long it is as small a part.
unsigned long_enough(unsigned ms) { return emulated() ? 10 * ms : ms; }

Crew crew(const std::string& what, unsigned ms) {
  const std::uint64_t before_ns = interrupts_ns();
  const Capture capture = trace(truth::call("crew", {what, std::to_string(long_enough(ms))}));
  const std::uint64_t after_ns = interrupts_ns();
  expect::sound(capture);
  const tracer::Account account = capture.exit().account;
  return {expect::known(account.ledger), account.process_ledger.value(), after_ns - before_ns};
}

/// No two threads ran at the same time, and for nothing else than the CPU was waited.
void check_one_at_a_time(const Crew& seen) {
  const std::uint64_t life = seen.whole.life_ns;
  CAPTURE(life);
  CAPTURE(seen.whole.run_queue_ns);
  CAPTURE(seen.interrupts_ns);
  const std::uint64_t running = seen.whole.running_ns;
  const std::uint64_t cpu = seen.threads.cpu_ns;
  CHECK(cpu <= running + close_to(life));
  CHECK(running <= cpu + (emulated() ? seen.interrupts_ns : 0) + close_to(life));
  // Before its exec it waits to be let go, on an emulated machine for long.
  const std::uint64_t held = emulated() ? seen.whole.pipe_read_ns : 0;
  CHECK(distance(seen.whole.running_ns + seen.whole.run_queue_ns + held, life) <= close_to(life));
}

/// A program that nobody follows yet, in the midst of what it does.
pid_t start(const std::string& what, const std::string& ms) {
  const pid_t pid = ::fork();
  if (pid == 0) truth::execute(truth::call("crew", {what, ms}));
  ::usleep(emulated() ? 1'000'000 : 150'000);
  return pid;
}

struct Seen {
  std::optional<tracer::ProcessSample> sample;
  std::optional<tracer::ProcessExit> exit;
};

/// Follows it for so long, and kills it.
Seen follow(pid_t pid, bool by_track, unsigned ms) {
  tracer::SessionOptions options;
  options.filter.include_tree(by_track ? ::getpid() : pid);
  tracer::Session session(std::move(options));
  Seen seen;
  const auto on_exit = session.on<tracer::ProcessExit>([&](const tracer::ProcessExit& event) {
    if (event.process->pid == static_cast<std::uint32_t>(pid)) seen.exit = event;
  });
  session.start();
  if (by_track) session.track(pid);
  ::usleep(ms * 1000);
  for (const auto& sample : session.living())
    if (sample.process->pid == static_cast<std::uint32_t>(pid)) seen.sample = sample;
  ::kill(pid, SIGKILL);
  REQUIRE(::waitpid(pid, nullptr, 0) == pid);
  session.stop();
  REQUIRE(seen.exit.has_value());
  REQUIRE(seen.sample.has_value());
  return seen;
}

}  // namespace

TEST_CASE("a process of which one thread computes runs, though the others wait for a lock" *
          doctest::test_suite("waits native essential")) {
  const Crew seen = crew("compute_beside_waiters", 500);
  check_one_at_a_time(seen);
  CHECK(seen.whole.lock_ns <= close_to(seen.whole.life_ns));
  // Linux 6.12 may count the sleep of one that it moves to another CPU as queue: docs/fields.md.
  const std::uint64_t moved_ns = emulated() ? seen.threads.run_queue_ns : 0;
  CHECK(seen.threads.lock_ns + moved_ns >= 6 * seen.whole.running_ns);
}

TEST_CASE("threads that compute in turns under one lock are a process that runs, one at a time" *
          doctest::test_suite("native essential")) {
  const Crew seen = crew(emulated() ? "take_long_turns" : "take_turns", 500);
  check_one_at_a_time(seen);
  CHECK(seen.threads.lock_ns + seen.threads.run_queue_ns >= 2 * seen.whole.running_ns);
}

TEST_CASE("a process whose workers wait for the one that waits for the disk waits for the disk" *
          doctest::test_suite("waits")) {
  const Capture capture = trace(truth::call("crew", {"read_for_workers", std::to_string(long_enough(250))}));
  expect::sound(capture);
  const std::uint64_t waited = expect::told(capture).at(0);
  if (waited == 0) {
    MESSAGE("SKIP: no FUSE here");
    return;
  }
  const tracer::ProcessExit exit = capture.exit();
  CAPTURE(waited);
  CHECK(distance(exit.account.process_ledger->disk_ns, waited) <= close_to(waited));
  CHECK(exit.account.process_ledger->lock_ns <= close_to(waited));
  CHECK(expect::known(exit.account.ledger).lock_ns >= 3 * waited);
}

TEST_CASE("threads that share one CPU are a process that runs, one at a time, or waits for that CPU" *
          doctest::test_suite("native essential")) {
  const Crew alone = crew("share_cpu", 500);
  check_one_at_a_time(alone);
  const Crew beside = crew("share_cpu_beside_another", 500);
  check_one_at_a_time(beside);
  CHECK(beside.whole.run_queue_ns >= beside.whole.life_ns / 20);
  // Others on this machine may want that CPU, too.
  CHECK(alone.whole.run_queue_ns < beside.whole.run_queue_ns);
}

TEST_CASE("a process of which one thread stands in the queue is queued, though another sleeps in between" *
          doctest::test_suite("waits native essential")) {
  const Crew seen = crew("compute_beside_sleeper_and_another", 400);
  check_one_at_a_time(seen);
  CHECK(seen.whole.run_queue_ns >= seen.whole.life_ns / 5);
  CHECK(seen.whole.sleep_ns <= close_to(seen.whole.life_ns));
}

TEST_CASE("threads that compute at the same time are counted once" * doctest::test_suite("waits native")) {
  if (std::thread::hardware_concurrency() < 2 || emulated()) {
    MESSAGE("SKIP: two CPUs are needed for it");
    return;
  }
  const Crew seen = crew("compute_at_once", 300);
  // 20 ms for both to come, 300 ms together, 300 ms alone; when others want the CPUs, the queue is part of it, and it
  // ends later.
  const std::uint64_t life = seen.whole.life_ns;
  CHECK(life >= 600 * kMillisecond);
  CHECK(distance(seen.whole.running_ns + seen.whole.run_queue_ns, life) <= close_to(life));
  CHECK(seen.threads.cpu_ns + seen.threads.run_queue_ns >= 900 * kMillisecond);
}

TEST_CASE("a process whose first thread ends first is followed to its end" * doctest::test_suite("waits native")) {
  const Crew seen = crew("first_ends_first", 150);
  const std::uint64_t each = long_enough(150) * kMillisecond;
  CHECK(distance(seen.whole.sleep_ns, each) <= close_to(3 * each) + seen.whole.run_queue_ns);
  CHECK(distance(seen.whole.running_ns, 2 * each) <= close_to(3 * each));
}

TEST_CASE("of many short threads none is left counted" * doctest::test_suite("waits native")) {
  const Crew seen = crew("short_lives", 0);
  CHECK(seen.whole.running_ns <= seen.threads.cpu_ns + close_to(seen.whole.life_ns));
  CHECK(seen.whole.running_ns + seen.whole.run_queue_ns >= seen.whole.life_ns / 2);
}

TEST_CASE("an exec by a second thread parts the process's life, too" * doctest::test_suite("waits native")) {
  const Capture capture = trace(truth::call("wait", {"exec_by_thread", std::to_string(long_enough(200))}));
  expect::sound(capture);
  const auto numbers = expect::told(capture);
  REQUIRE(numbers.size() == 2);
  const tracer::ProcessExit exit = capture.exit();
  const tracer::ProcessLedger whole = exit.account.process_ledger.value();
  const std::uint64_t slept = numbers[0] + numbers[1];
  CHECK(distance(whole.sleep_ns, slept) <= close_to(slept) + whole.run_queue_ns);
  CHECK(distance(whole.running_ns, *exit.account.cpu_ns) <= close_to(whole.life_ns));
  if (!exit.program.account.process_ledger) return;
  const tracer::ProcessLedger& second = *exit.program.account.process_ledger;
  CHECK(distance(second.sleep_ns, numbers[1]) <= close_to(slept) + second.run_queue_ns);
  std::uint64_t life = second.life_ns;
  for (const auto& exec : capture.all<tracer::ProcessExec>())
    life += expect::known(exec.ended.account.ledger).wall_ns == 0 ? 0 : exec.ended.account.process_ledger->life_ns;
  CHECK(life == whole.life_ns);
}

TEST_CASE("of a process with several threads that lived before, the whole is followed from then on" *
          doctest::test_suite("native essential")) {
  const unsigned ms = long_enough(600);
  const std::uint64_t ns = ms * kMillisecond;
  // It may be followed in the midst of a turn; emulated, its turns of sleep are longer than they should be.
  const std::uint64_t turn_ns = emulated() ? ns / 10 : 50 * kMillisecond;
  for (const bool by_track : {false, true}) {
    CAPTURE(by_track);
    const Seen seen = follow(start("compute_and_sleep_for_ever", "50"), by_track, ms);
    for (const tracer::Account* account : {&seen.sample->account, &seen.exit->account}) {
      expect::process_sums(*account, 2 * kMillisecond);
      const tracer::ProcessLedger& whole = *account->process_ledger;
      CHECK(distance(whole.life_ns, ns) <= expect::slack_ns(ns) + 20 * kMillisecond);
      CHECK(distance(whole.running_ns, account->ledger->cpu_ns) <= close_to(whole.life_ns));
      CHECK(distance(whole.running_ns + whole.run_queue_ns, whole.life_ns / 2) <= turn_ns);
      // The signal that ends all of them may reach one first that waits for a lock: so the last sleep is that one's.
      CHECK(distance(whole.sleep_ns + whole.lock_ns, whole.life_ns / 2) <= turn_ns);
      CHECK(whole.lock_ns <= (account == &seen.exit->account ? 60 * kMillisecond : close_to(whole.life_ns)));
    }
  }
}

TEST_CASE("what has been on a CPU since before it was followed is counted there" *
          doctest::test_suite("waits native essential")) {
  for (const bool by_track : {false, true}) {
    CAPTURE(by_track);
    const Seen seen = follow(start("compute_beside_sleeper_for_ever", "0"), by_track, long_enough(400));
    for (const tracer::Account* account : {&seen.sample->account, &seen.exit->account}) {
      expect::process_sums(*account, 2 * kMillisecond);
      const tracer::ProcessLedger& whole = *account->process_ledger;
      CHECK(distance(whole.running_ns + whole.run_queue_ns, whole.life_ns) <= close_to(whole.life_ns));
      CHECK(whole.sleep_ns <= close_to(whole.life_ns));
    }
  }
}

TEST_CASE("a process with several threads is stopped while all of them are" *
          doctest::test_suite("waits native essential")) {
  const Capture capture = trace(truth::call("wait", {"stopped_crew", std::to_string(long_enough(300))}));
  expect::sound(capture);
  const std::uint64_t stopped = expect::told(capture).at(0);
  REQUIRE(capture.other_exits().size() == 1);
  const tracer::Account account = capture.other_exits().front().account;
  const tracer::ProcessLedger whole = account.process_ledger.value();
  CAPTURE(stopped);
  CAPTURE(whole.run_queue_ns);
  CHECK(whole.stopped_ns <= stopped + close_to(stopped));
  CHECK(whole.stopped_ns + whole.run_queue_ns + close_to(stopped) >= stopped);
  // Each of the two threads was.
  const std::uint64_t both = 2 * stopped;
  CHECK(distance(expect::known(account.ledger).stopped_ns, both) <= close_to(both) + account.ledger->run_queue_ns);
}

TEST_CASE("a process of one thread is what its thread is" * doctest::test_suite("waits")) {
  const Capture capture = trace(truth::call("wait", {"poll", "100"}));
  const tracer::Account account = capture.exit().account;
  const tracer::Ledger threads = expect::known(account.ledger);
  const tracer::ProcessLedger whole = account.process_ledger.value();
  CHECK(whole.life_ns == threads.wall_ns);
  CHECK(whole.running_ns == threads.cpu_ns);
  CHECK(whole.run_queue_ns == threads.run_queue_ns);
  CHECK(whole.poll_ns == threads.poll_ns);
  CHECK(whole.other_ns == threads.other_ns);
}
