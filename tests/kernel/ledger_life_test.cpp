// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include <tracer/session.hpp>

#include "capture.hpp"
#include "ledger_expect.hpp"
#include "truth.hpp"

namespace {

using expect::kMillisecond;
using expect::told;

/// A program that nobody follows yet.
pid_t start(const std::vector<std::string>& words) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
    truth::execute(words);
  }
  return pid;
}

struct Attached {
  std::optional<tracer::ProcessSample> sample;  ///< In the midst of its wait.
  std::optional<tracer::ProcessExit> exit;
};

/// Follows a program from the midst of its wait on, and kills it there.
Attached attach(const char* how, bool by_track) {
  const pid_t pid = start(truth::call("wait", {how, "600000"}));
  ::usleep(300'000);
  tracer::SessionOptions options;
  options.filter.include_tree(by_track ? ::getpid() : pid);
  tracer::Session session(std::move(options));
  Attached seen;
  const auto on_exit = session.on<tracer::ProcessExit>([&](const tracer::ProcessExit& event) {
    if (event.process->pid == static_cast<std::uint32_t>(pid)) seen.exit = event;
  });
  session.start();
  if (by_track) session.track(pid);
  ::usleep(300'000);
  for (const auto& sample : session.living())
    if (sample.process->pid == static_cast<std::uint32_t>(pid)) seen.sample = sample;
  ::kill(pid, SIGKILL);
  REQUIRE(::waitpid(pid, nullptr, 0) == pid);
  session.stop();
  return seen;
}

}  // namespace

TEST_CASE("the wall time of a program is the sum over its threads" * doctest::test_suite("native")) {
  const Capture capture = trace(truth::call("wait", {"threads", "300"}));
  expect::sound(capture);
  const std::uint64_t waited = told(capture)[0];
  const auto exit = capture.exit();
  const tracer::Ledger ledger = expect::known(exit.program.account.ledger);
  CHECK(exit.threads == 4u);
  expect::waits(ledger, {{"lock", waited}, {"sleep", 3 * 300 * kMillisecond}});
  const std::uint64_t life = exit.end_ns - *exit.program.start_ns;
  const std::uint64_t wall = life + 3 * 300 * kMillisecond;
  CHECK(expect::distance(ledger.wall_ns, wall) <= expect::slack_ns(wall));
}

TEST_CASE("each program of an exec chain has its own share of the waits" * doctest::test_suite("waits native")) {
  const Capture capture = trace(truth::call("wait", {"chain", "300", "100", "200"}));
  expect::sound(capture);
  const auto numbers = told(capture);
  REQUIRE(numbers.size() == 3);
  const auto execs = capture.all<tracer::ProcessExec>();
  REQUIRE(execs.size() == 3);
  const auto exit = capture.exit();
  expect::waits(execs[1].ended.account.ledger, {{"sleep", numbers[0]}});
  expect::waits(execs[2].ended.account.ledger, {{"sleep", numbers[1]}});
  expect::waits(exit.program.account.ledger, {{"sleep", numbers[2]}});
  std::uint64_t wall = exit.program.account.ledger->wall_ns;
  std::uint64_t slept = exit.program.account.ledger->sleep_ns;
  for (const auto& exec : execs) {
    wall += exec.ended.account.ledger->wall_ns;
    slept += exec.ended.account.ledger->sleep_ns;
  }
  CHECK(wall == exit.account.ledger->wall_ns);
  CHECK(slept == exit.account.ledger->sleep_ns);
}

TEST_CASE("an exec by a second thread loses nothing of either thread" * doctest::test_suite("waits")) {
  // The first thread's last switch comes before the exec is seen, or after it.
  const int rounds = ::getenv("TRACER_EMULATED") != nullptr ? 2 : 5;
  for (int round = 0; round < rounds; ++round) {
    const Capture capture = trace(truth::call("wait", {"exec_by_thread", "200"}));
    expect::sound(capture);
    const auto numbers = told(capture);
    REQUIRE(numbers.size() == 2);
    const auto exit = capture.exit();
    const tracer::Ledger ledger = expect::known(exit.account.ledger);
    const std::uint64_t slack = expect::slack_ns(numbers[0] + numbers[1]);
    CHECK(expect::distance(ledger.sleep_ns, numbers[0] + numbers[1]) <= slack + ledger.run_queue_ns);
    CHECK(expect::distance(ledger.lock_ns, numbers[0]) <= slack + ledger.run_queue_ns);
    // The first thread's CPU time, too.
    CHECK(expect::distance(ledger.cpu_ns, *exit.account.cpu_ns) <= expect::slack_ns(0));
    if (exit.program.account.ledger) expect::waits(exit.program.account.ledger, {{"sleep", numbers[1]}});
  }
}

TEST_CASE("of a process that lived before, the ledger is that since it was taken in, its present wait included" *
          doctest::test_suite("waits native")) {
  for (const bool by_track : {false, true}) {
    CAPTURE(by_track);
    const Attached seen = attach("sleep", by_track);
    REQUIRE(seen.exit.has_value());
    REQUIRE(seen.exit->attached_ns.has_value());
    const std::uint64_t followed = seen.exit->end_ns - *seen.exit->attached_ns;
    expect::waits(seen.exit->account.ledger, {{"sleep", followed}});
    CHECK(expect::distance(seen.exit->account.ledger->wall_ns, followed) <= expect::slack_ns(0));
    REQUIRE(seen.sample.has_value());
    const std::uint64_t until_then = seen.sample->time_ns - *seen.exit->attached_ns;
    expect::waits(seen.sample->account.ledger, {{"sleep", until_then}});
    CHECK(until_then >= 300 * kMillisecond);
  }
}

TEST_CASE("what a process stood in the run queue before it was taken in is not in its ledger" *
          doctest::test_suite("native")) {
  const Attached seen = attach("queued", false);
  REQUIRE(seen.exit.has_value());
  const std::uint64_t followed = seen.exit->end_ns - *seen.exit->attached_ns;
  expect::waits(seen.exit->account.ledger, {});
  CHECK(expect::distance(seen.exit->account.ledger->wall_ns, followed) <= expect::slack_ns(0));
  REQUIRE(seen.sample.has_value());
  expect::waits(seen.sample->account.ledger, {});
}

TEST_CASE("each thread of a process that lived before is followed" * doctest::test_suite("waits")) {
  const Attached seen = attach("threads", false);
  REQUIRE(seen.exit.has_value());
  const std::uint64_t followed = seen.exit->end_ns - *seen.exit->attached_ns;
  expect::waits(seen.exit->account.ledger, {{"sleep", 3 * followed}, {"lock", followed}});
  REQUIRE(seen.sample.has_value());
  const std::uint64_t until_then = seen.sample->time_ns - *seen.exit->attached_ns;
  expect::waits(seen.sample->account.ledger, {{"sleep", 3 * until_then}, {"lock", until_then}});
}
