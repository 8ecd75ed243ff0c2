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

/// What a program that waits has told, and its ledger.
struct Part {
  std::vector<std::uint64_t> told;
  tracer::Ledger ledger;
};

struct Series {
  Capture capture;
  std::vector<Part> parts;
};

/// Programs that wait 300 ms each, in one process: one session for them all.
Series traced_series(const Strings& hows) {
  Strings words = {"series", "300"};
  words.insert(words.end(), hows.begin(), hows.end());
  Series series;
  series.capture = trace(truth::call("wait", words));
  expect::sound(series.capture);
  std::istringstream output(series.capture.output);
  for (std::string text; std::getline(output, text, '-');) series.parts.push_back({expect::numbers_of(text), {}});
  REQUIRE(series.parts.size() == hows.size());
  // The first exec is that of the first program.
  std::size_t execs = 0;
  for (const auto& exec : series.capture.all<tracer::ProcessExec>()) {
    if (exec.process->pid != static_cast<std::uint32_t>(series.capture.pid)) continue;
    if (execs > 0) series.parts.at(execs - 1).ledger = exec.ended.account.ledger;
    ++execs;
  }
  REQUIRE(execs == hows.size());
  series.parts.back().ledger = series.capture.exit().program.account.ledger;
  return series;
}

Series traced_series(const Names& names) {
  Strings hows;
  for (const auto& [how, cause] : names) hows.push_back(how);
  return traced_series(hows);
}

}  // namespace

TEST_CASE("a wait has its own name in the ledger, and as long as the program measured") {
  const Names names = {{"sleep", "sleep"}, {"file_lock", "lock"},   {"semaphore", "lock"}, {"poll", "poll"},
                       {"select", "poll"}, {"epoll", "poll"},       {"event", "poll"},     {"child", "child"},
                       {"vfork", "child"}, {"sigsuspend", "child"}, {"sigwait", "child"},  {"spawn", "child"},
                       {"tcp", "socket"}};
  const Series series = traced_series(names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto& [how, cause] = names[i];
    CAPTURE(how);
    const Part& part = series.parts[i];
    REQUIRE(!part.told.empty());
    // A spawned program tells its own first; a peer is told last.
    expect::waits(part.ledger, {{cause, part.told[how == "spawn" ? 1 : 0]}});
  }
}

TEST_CASE("the child that is waited for sleeps, in its own ledger") {
  const Strings hows = {"child", "vfork", "spawn"};
  const Series series = traced_series(hows);
  const auto others = series.capture.other_exits();
  REQUIRE(others.size() == hows.size());
  for (std::size_t i = 0; i < hows.size(); ++i) {
    CAPTURE(hows[i]);
    expect::waits(others[i].account.ledger, {{"sleep", series.parts[i].told.back()}});
    CHECK(!others[i].attached_ns.has_value());
  }
}

TEST_CASE("a futex is a lock, and the other thread's sleep is in the sum") {
  const Series series = traced_series(Strings{"futex"});
  const Part& part = series.parts[0];
  REQUIRE(part.told.size() == 2);
  expect::waits(part.ledger, {{"lock", part.told[0]}, {"sleep", part.told[1]}});
  CHECK(series.capture.exit().threads == 2u);
}

TEST_CASE("a wait for a pipe names its direction, and who ended it") {
  const Strings hows = {"pipe_empty", "pipe_two_peers", "fifo_reader",      "fifo_writer",        "splice_from_empty",
                        "pipe_full",  "splice_to_full", "sendfile_to_full", "splice_file_to_full"};
  constexpr std::size_t kReading = 5;
  const Series series = traced_series(hows);
  for (std::size_t i = 0; i < hows.size(); ++i) {
    CAPTURE(hows[i]);
    const auto& [told, ledger] = series.parts[i];
    REQUIRE(told.size() == 2);
    expect::waits(ledger, {{i < kReading ? "pipe_read" : "pipe_write", told[0]}});
    CHECK((i < kReading ? ledger.pipe_read_peer_pid : ledger.pipe_write_peer_pid) == told[1]);
  }
}

TEST_CASE("a stop by a signal is a stop, and what it interrupted keeps its name") {
  const Names names = {{"stopped", "none"}, {"stopped_in_sleep", "sleep"}, {"stopped_in_poll", "poll"}};
  const Series series = traced_series(names);
  const auto others = series.capture.other_exits();
  REQUIRE(others.size() == names.size());
  expect::waits(others[0].account.ledger, {{"stopped", series.parts[0].told[0]}});
  for (std::size_t i = 1; i < names.size(); ++i) {
    CAPTURE(names[i].first);
    const auto& told = series.parts[i].told;
    REQUIRE(told.size() == 2);
    expect::waits(others[i].account.ledger, {{names[i].second, told[0] - told[1]}, {"stopped", told[1]}});
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
