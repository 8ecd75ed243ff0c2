// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "capture.hpp"
#include "ledger_expect.hpp"
#include "truth.hpp"

namespace {

using Strings = std::vector<std::string>;
using Names = std::vector<std::pair<std::string, std::string>>;

/// What a process that waits has told, and its end.
struct Part {
  std::vector<std::uint64_t> told;
  tracer::ProcessExit exit;

  const tracer::Ledger& ledger() const { return expect::known(exit.account.ledger); }
};

struct Parts {
  Capture capture;
  std::vector<Part> all;

  /// Of the only child that this one had.
  const tracer::Ledger& child_of(const Part& part) const {
    const auto is_child = [&part](const tracer::ProcessExit& exit) {
      return exit.process->parent_pid == part.exit.process->pid;
    };
    REQUIRE(std::count_if(exits.begin(), exits.end(), is_child) == 1);
    return expect::known(std::find_if(exits.begin(), exits.end(), is_child)->account.ledger);
  }

  std::vector<tracer::ProcessExit> exits;
};

/// Processes that wait 300 ms each, under one session.
Parts traced(const Strings& hows) {
  Strings words = {"processes", "300"};
  words.insert(words.end(), hows.begin(), hows.end());
  Parts parts;
  parts.capture = trace(truth::call("wait", words));
  expect::sound(parts.capture);
  parts.exits = parts.capture.other_exits();
  std::istringstream output(parts.capture.output);
  for (std::string text; std::getline(output, text, '-') && text != "\n";) {
    Part part{expect::numbers_of(text), {}};
    REQUIRE(part.told.size() >= 2);
    for (const auto& exit : parts.exits)
      if (exit.process->pid == part.told.back()) part.exit = exit;
    REQUIRE(part.exit.process != nullptr);
    CHECK(!part.exit.attached_ns.has_value());
    parts.all.push_back(part);
  }
  REQUIRE(parts.all.size() == hows.size());
  return parts;
}

Parts traced(const Names& names) {
  Strings hows;
  for (const auto& [how, cause] : names) hows.push_back(how);
  return traced(hows);
}

/// Woken, it may stand in the queue before it runs.
void check_waited(const tracer::Ledger& ledger, std::uint64_t seen_ns, std::uint64_t truth_ns) {
  CHECK(seen_ns <= truth_ns + expect::slack_ns(truth_ns));
  CHECK(seen_ns + ledger.run_queue_ns + expect::slack_ns(truth_ns) >= truth_ns);
}

}  // namespace

TEST_CASE("a wait has its own name in the ledger, and as long as the program measured" *
          doctest::test_suite("essential")) {
  const Names names = {
      {"poll_nothing", "sleep"}, {"select_nothing", "sleep"}, {"futex_in_vain", "sleep"}, {"accept", "poll"},
      {"sleep", "sleep"},        {"file_lock", "lock"},       {"semaphore", "lock"},      {"poll", "poll"},
      {"select", "poll"},        {"epoll", "poll"},           {"event", "poll"},          {"child", "child"},
      {"vfork", "child"},        {"sigsuspend", "child"},     {"sigwait", "child"},       {"spawn", "child"},
      {"tcp", "local_socket"},   {"fifo_alarm", "pipe_read"}};
  const Parts parts = traced(names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto& [how, cause] = names[i];
    CAPTURE(how);
    // A spawned program tells its own time first.
    expect::waits(parts.all[i].ledger(), {{cause, parts.all[i].told[how == "spawn" ? 1 : 0]}});
  }
}

TEST_CASE("the child that is waited for sleeps, in its own ledger" * doctest::test_suite("waits")) {
  const Parts parts = traced(Strings{"child", "vfork", "spawn"});
  for (const Part& part : parts.all) expect::waits(parts.child_of(part), {{"sleep", part.told[part.told.size() - 2]}});
}

TEST_CASE("a futex is a lock, and the other thread's sleep is in the sum" * doctest::test_suite("waits")) {
  // With a timeout, too, where that is not reached.
  const Parts parts = traced(Strings{"futex", "futex_in_time"});
  for (const Part& part : parts.all) {
    REQUIRE(part.told.size() == 3);
    expect::waits(part.ledger(), {{"lock", part.told[0]}, {"sleep", part.told[1]}});
    CHECK(part.exit.threads == 2u);
  }
}

TEST_CASE("a wait for a pipe names its direction, and who ended it" * doctest::test_suite("waits")) {
  const Strings hows = {"pipe_empty", "pipe_two_peers", "fifo_reader",      "fifo_writer",         "splice_from_empty",
                        "pipe_full",  "splice_to_full", "sendfile_to_full", "splice_file_to_full", "vmsplice_to_full"};
  constexpr std::size_t kReading = 5;
  const Parts parts = traced(hows);
  for (std::size_t i = 0; i < hows.size(); ++i) {
    CAPTURE(hows[i]);
    const Part& part = parts.all[i];
    REQUIRE(part.told.size() == 3);
    expect::waits(part.ledger(), {{i < kReading ? "pipe_read" : "pipe_write", part.told[0]}});
    const auto& read_peer = part.ledger().pipe_read_peer_pid;
    const auto& write_peer = part.ledger().pipe_write_peer_pid;
    CHECK((i < kReading ? read_peer : write_peer).value_or(0) == part.told[1]);
    CHECK(!(i < kReading ? write_peer : read_peer).has_value());
  }
}

TEST_CASE("a poll that a neighbor of a pipe ends is a wait for the pipe, and names the neighbor" *
          doctest::test_suite("waits")) {
  const Strings hows = {"poll_empty", "select_empty", "epoll_empty", "poll_spliced",
                        "poll_full",  "select_full",  "epoll_full"};
  constexpr std::size_t kReading = 4;
  const Parts parts = traced(hows);
  for (std::size_t i = 0; i < hows.size(); ++i) {
    CAPTURE(hows[i]);
    const Part& part = parts.all[i];
    REQUIRE(part.told.size() == 3);
    expect::waits(part.ledger(), {{i < kReading ? "pipe_read" : "pipe_write", part.told[0]}});
    const auto& peer = i < kReading ? part.ledger().pipe_read_peer_pid : part.ledger().pipe_write_peer_pid;
    CHECK(peer.value_or(0) == part.told[1]);
  }
}

TEST_CASE("a socket between processes of this machine is no network" * doctest::test_suite("waits")) {
  const Strings hows = {"local_recv",  "local_read", "local_datagram", "local_poll",
                        "local_epoll", "tcp",        "tcp6",           "network"};
  const Parts parts = traced(hows);
  for (std::size_t i = 0; i < hows.size(); ++i) {
    CAPTURE(hows[i]);
    const Part& part = parts.all[i];
    if (part.told[0] == 0) {
      MESSAGE("SKIP: no IPv6 here");
      continue;
    }
    const std::uint64_t accepted_ns = hows[i] == "tcp6" ? part.told[2] : 0;
    expect::waits(part.ledger(), {{hows[i] == "network" ? "network" : "local_socket", part.told[0] - accepted_ns},
                                  {"poll", accepted_ns}});
    // Of polls it is not sure that they were for the socket.
    const bool is_known = i < 3 || hows[i].starts_with("tcp");
    CHECK(part.ledger().local_socket_peer_pid.value_or(0) == (is_known ? part.told[1] : 0));
    const std::uint64_t seen_ns = part.ledger().local_socket_peer_ns;
    check_waited(part.ledger(), seen_ns, is_known ? part.told[0] - accepted_ns : 0);
    CHECK_FALSE(part.ledger().lock_peer_pid.has_value());
  }
}

TEST_CASE("a wait for a lock that another process has names that, and no other does" *
          doctest::test_suite("waits essential")) {
  const Strings hows = {"lock_given", "lock_closed", "lock_ended", "lock_record",    "lock_semaphore",
                        "lock_two",   "lock_shared", "lock_timed", "lock_by_thread", "lock_signaled"};
  const Parts parts = traced(hows);
  for (std::size_t i = 0; i < hows.size(); ++i) {
    CAPTURE(hows[i]);
    const tracer::Ledger& ledger = parts.all[i].ledger();
    const auto& told = parts.all[i].told;
    // Nobody gives what it awaits: it sleeps.
    const std::uint64_t waited_ns = hows[i] == "lock_timed" ? ledger.sleep_ns : ledger.lock_ns;
    CHECK(waited_ns + ledger.run_queue_ns + expect::slack_ns(told[0]) >= told[0]);
    CHECK(ledger.lock_peer_pid.value_or(0) == told[1]);
    const std::uint64_t truth_ns = told[1] == 0 ? 0 : told[0];
    check_waited(ledger, ledger.lock_peer_ns, truth_ns);
    CHECK_FALSE(ledger.local_socket_peer_pid.has_value());
  }
  // Those that made them wait waited for nobody.
  for (const auto& exit : parts.exits)
    if (exit.account.ledger && exit.account.ledger->lock_ns == 0)
      CHECK_FALSE(exit.account.ledger->lock_peer_pid.has_value());
}

TEST_CASE("a wait for a file that another process serves is a disk's, not a pipe's" * doctest::test_suite("waits")) {
  const Capture capture = trace(truth::call("wait", {"served_file", "200"}));
  const std::uint64_t waited = expect::told(capture).at(0);
  if (waited == 0) {
    MESSAGE("SKIP: no FUSE here");
    return;
  }
  CHECK(waited >= 400 * expect::kMillisecond);
  const auto ledger = expect::program_ledger(capture);
  if (!ledger) return;
  CHECK(expect::distance(ledger->disk_ns, waited) <= expect::slack_ns(waited));
  CHECK(ledger->pipe_read_ns == 0);
}

TEST_CASE("so is one that is never answered" * doctest::test_suite("waits")) {
  const Parts parts = traced(Strings{"unserved_file"});
  const Part& part = parts.all[0];
  if (part.told[0] == 0) {
    MESSAGE("SKIP: no FUSE here");
    return;
  }
  const auto opener = std::find_if(parts.exits.begin(), parts.exits.end(),
                                   [&](const auto& exit) { return exit.process->pid == part.told[1]; });
  REQUIRE(opener != parts.exits.end());
  expect::waits(expect::known(opener->account.ledger), {{"disk", part.told[0]}});
}

TEST_CASE("who sends a signal has no end of the pipe that its receiver reads" * doctest::test_suite("waits")) {
  const Part part = traced(Strings{"pipe_signaled"}).all[0];
  expect::waits(part.ledger(), {{"pipe_read", part.told[0]}});
  CHECK(!part.ledger().pipe_read_peer_pid.has_value());
}

TEST_CASE("a stop by a signal is a stop, and what it interrupted keeps its name" * doctest::test_suite("waits")) {
  const Names names = {{"stopped", "stopped"}, {"stopped_in_sleep", "sleep"}, {"stopped_in_poll", "poll"}};
  const Parts parts = traced(names);
  expect::waits(parts.child_of(parts.all[0]), {{"stopped", parts.all[0].told[0]}});
  for (std::size_t i = 1; i < names.size(); ++i) {
    CAPTURE(names[i].first);
    const auto& told = parts.all[i].told;
    REQUIRE(told.size() == 3);
    expect::waits(parts.child_of(parts.all[i]), {{names[i].second, told[0] - told[1]}, {"stopped", told[1]}});
  }
}

TEST_CASE("four that want one CPU wait for it three quarters of the time" * doctest::test_suite("native")) {
  const Capture capture = trace(truth::call("wait", {"spinners", "1000"}));
  expect::sound(capture);
  const auto others = capture.other_exits();
  REQUIRE(others.size() == 4);
  std::uint64_t cpu_ns = 0;
  std::uint64_t longest_ns = 0;
  for (const auto& exit : others) {
    const tracer::Ledger ledger = expect::known(exit.account.ledger);
    expect::waits(ledger, {});
    cpu_ns += ledger.cpu_ns;
    longest_ns = std::max(longest_ns, ledger.wall_ns);
    // Others on this machine may take more of the CPU, never less.
    CHECK(ledger.run_queue_ns + expect::slack_ns(ledger.wall_ns) >= ledger.wall_ns / 4 * 3);
    CHECK(expect::distance(ledger.run_queue_ns, *exit.account.run_queue_ns) <= expect::slack_ns(0));
    CHECK(expect::distance(ledger.cpu_ns, *exit.account.cpu_ns) <= expect::kMillisecond);
  }
  CHECK(cpu_ns <= longest_ns + expect::slack_ns(longest_ns));
}

TEST_CASE("without the family there are no ledgers" * doctest::test_suite("waits native")) {
  tracer::SessionOptions options;
  options.families = {};
  const auto exit = trace(truth::call("wait", {"sleep", "10"}), std::move(options)).exit();
  CHECK(exit.account.cpu_ns.has_value());
  CHECK_FALSE(exit.account.ledger.has_value());
  CHECK_FALSE(exit.program.account.ledger.has_value());
}
