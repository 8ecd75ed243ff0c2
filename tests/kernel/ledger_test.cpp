// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "capture.hpp"
#include "ledger_expect.hpp"
#include "truth.hpp"

namespace {

using expect::told;

using Strings = std::vector<std::string>;
using Names = std::vector<std::pair<std::string, std::string>>;

const std::string kMs = "300";

Capture traced_wait(const std::string& how) {
  Capture capture = trace(truth::call("wait", {how, kMs}));
  expect::sound(capture);
  return capture;
}

const tracer::Ledger& only_child(const std::vector<tracer::ProcessExit>& others) {
  REQUIRE(others.size() == 1);
  return others[0].account.ledger;
}

}  // namespace

TEST_CASE("a wait has its own name in the ledger, and as long as the program measured") {
  for (const auto& [how, cause] : Names{{"sleep", "sleep"},
                                        {"file_lock", "lock"},
                                        {"semaphore", "lock"},
                                        {"poll", "poll"},
                                        {"select", "poll"},
                                        {"epoll", "poll"},
                                        {"event", "poll"},
                                        {"child", "child"},
                                        {"vfork", "child"},
                                        {"spawn", "child"},
                                        {"sigsuspend", "child"},
                                        {"sigwait", "child"}}) {
    CAPTURE(how);
    const Capture capture = traced_wait(how);
    const auto numbers = told(capture);
    // What the spawned program tells comes first.
    REQUIRE(!numbers.empty());
    expect::waits(capture.exit().program.account.ledger, {{cause, numbers.back()}});
  }
}

TEST_CASE("the child that is waited for sleeps, in its own ledger") {
  for (const std::string& how : Strings{"child", "vfork", "spawn"}) {
    CAPTURE(how);
    const Capture capture = traced_wait(how);
    const std::uint64_t waited = told(capture).back();
    const auto others = capture.other_exits();
    expect::waits(only_child(others), {{"sleep", waited}});
    CHECK(!others[0].attached_ns.has_value());
  }
}

TEST_CASE("a futex is a lock, and the other thread's sleep is in the sum") {
  const Capture capture = traced_wait("futex");
  const auto numbers = told(capture);
  REQUIRE(numbers.size() == 2);
  const auto exit = capture.exit();
  expect::waits(exit.program.account.ledger, {{"lock", numbers[0]}, {"sleep", numbers[1]}});
  CHECK(exit.threads == 2u);
}

TEST_CASE("a wait for a pipe names its direction, and who ended it") {
  for (const std::string& how :
       Strings{"pipe_empty", "pipe_two_peers", "fifo_reader", "fifo_writer", "splice_from_empty"}) {
    CAPTURE(how);
    const Capture capture = traced_wait(how);
    const auto numbers = told(capture);
    REQUIRE(numbers.size() == 2);
    const tracer::Ledger ledger = capture.exit().program.account.ledger;
    expect::waits(ledger, {{"pipe_read", numbers[0]}});
    CHECK(ledger.pipe_read_peer_pid == numbers[1]);
    CHECK(!ledger.pipe_write_peer_pid.has_value());
  }
  for (const std::string& how : Strings{"pipe_full", "splice_to_full", "splice_file_to_full", "sendfile_to_full"}) {
    CAPTURE(how);
    const Capture capture = traced_wait(how);
    const auto numbers = told(capture);
    REQUIRE(numbers.size() == 2);
    const tracer::Ledger ledger = capture.exit().program.account.ledger;
    expect::waits(ledger, {{"pipe_write", numbers[0]}});
    CHECK(ledger.pipe_write_peer_pid == numbers[1]);
  }
}

TEST_CASE("a wait for a reply over TCP is a socket's, by recv and by read") {
  const Capture capture = traced_wait("tcp");
  expect::waits(capture.exit().program.account.ledger, {{"socket", told(capture)[0]}});
}

TEST_CASE("a stop by a signal is a stop, and what it interrupted keeps its name") {
  const Capture plain = traced_wait("stopped");
  const auto stops = plain.other_exits();
  expect::waits(only_child(stops), {{"stopped", told(plain)[0]}});
  for (const auto& [how, cause] : Names{{"stopped_in_sleep", "sleep"}, {"stopped_in_poll", "poll"}}) {
    CAPTURE(how);
    const Capture capture = traced_wait(how);
    const auto numbers = told(capture);
    REQUIRE(numbers.size() == 2);
    const auto others = capture.other_exits();
    expect::waits(only_child(others), {{cause, numbers[0] - numbers[1]}, {"stopped", numbers[1]}});
  }
}

TEST_CASE("four that want one CPU wait for it three quarters of the time") {
  const Capture capture = trace(truth::call("wait", {"spinners", "1000"}));
  expect::sound(capture);
  const auto others = capture.other_exits();
  REQUIRE(others.size() == 4);
  std::uint64_t cpu_ns = 0;
  std::uint64_t longest_ns = 0;
  for (const auto& exit : others) {
    const tracer::Ledger& ledger = exit.account.ledger;
    expect::waits(ledger, {});
    cpu_ns += *ledger.cpu_ns;
    longest_ns = std::max(longest_ns, *ledger.wall_ns);
    // Others on this machine may take more of the CPU, never less.
    CHECK(*ledger.run_queue_ns + expect::slack_ns(*ledger.wall_ns) >= *ledger.wall_ns / 4 * 3);
    CHECK(expect::distance(*ledger.run_queue_ns, *exit.account.run_queue_ns) <= expect::slack_ns(0));
    CHECK(expect::distance(*ledger.cpu_ns, *exit.account.cpu_ns) <= expect::kMillisecond);
  }
  CHECK(cpu_ns <= longest_ns + expect::slack_ns(longest_ns));
}

TEST_CASE("without the family there are no ledgers") {
  tracer::SessionOptions options;
  options.families = {};
  const auto exit = trace(truth::call("wait", {"sleep", "10"}), std::move(options)).exit();
  CHECK(exit.account.cpu_ns.has_value());
  for (const tracer::Ledger& ledger : {exit.account.ledger, exit.program.account.ledger}) {
    CHECK(!ledger.wall_ns.has_value());
    CHECK(!ledger.sleep_ns.has_value());
    CHECK(!ledger.other_ns.has_value());
    CHECK(!ledger.pipe_read_peer_pid.has_value());
  }
}
