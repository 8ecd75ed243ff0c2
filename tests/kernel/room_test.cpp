// SPDX-License-Identifier: Apache-2.0
/// Tables without room for all, and those that need none of it.
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "capture.hpp"
#include "held.hpp"
#include "truth.hpp"

namespace {

/// Takes in what a held program has made by now, lets it end, and keeps all that was seen.
Capture take_in(const Held& held, tracer::SessionOptions options) {
  Capture capture;
  capture.pid = held.pid;
  options.filter.include_tree(held.pid);
  tracer::Session session(std::move(options));
  const auto subscription = session.on_any([&](const tracer::Event& event) { capture.events.push_back(event); });
  session.start();
  capture.usage = release(held, &capture.output);
  session.stop();
  capture.totals = session.totals();
  capture.statistics = session.statistics();
  return capture;
}

std::size_t without_ledger(const Capture& capture) {
  std::size_t count = 0;
  for (const auto& exit : capture.all<tracer::ProcessExit>()) count += exit.account.ledger.has_value() ? 0 : 1;
  return count;
}

}  // namespace

TEST_CASE("what lives with one thread when it is taken in needs no room for sums of threads" *
          doctest::test_suite("native")) {
  // Room for 4,096 sums, and for 6,144 processes.
  constexpr std::size_t kCrowd = 4600;
  tracer::SessionOptions options;
  options.max_processes = 4096;
  options.ring_bytes = 16u << 20;
  const Capture capture = take_in(hold(truth::call("quiet_crowd", {std::to_string(kCrowd)})), std::move(options));
  CHECK(capture.statistics.lost() == 0);
  std::map<std::uint64_t, tracer::ProcessExit> exits;
  std::size_t unknown = 0;
  for (const auto& exit : capture.other_exits()) {
    exits.emplace(exit.process->pid, exit);
    unknown += exit.account.cpu_ns.has_value() && exit.account.ledger.has_value() ? 0 : 1;
  }
  CHECK(exits.size() == kCrowd);
  CHECK(unknown == 0);
  std::istringstream lines(capture.output);
  std::size_t computed = 0;
  for (std::uint64_t pid = 0, cpu_ns = 0; lines >> pid >> cpu_ns; ++computed) {
    REQUIRE(exits.count(pid) == 1);
    const auto seen_ns = static_cast<double>(exits.at(pid).account.cpu_ns.value());
    const auto told_ns = static_cast<double>(cpu_ns);
    CHECK(told_ns >= 60e6);
    // What it does after it has told is short.
    CHECK(seen_ns >= 0.99 * told_ns);
    CHECK(seen_ns <= 1.05 * told_ns);
  }
  CHECK(computed == (kCrowd + 499) / 500);
}

TEST_CASE("a process whose ledger found no room is counted once, however many threads it has" *
          doctest::test_suite("waits native")) {
  tracer::SessionOptions options;
  options.max_threads = 16;
  for (const char* threads : {"60", "100"}) {
    CAPTURE(threads);
    const Capture capture = take_in(hold(truth::call("threads_beyond_room", {threads})), options);
    CHECK(capture.all<tracer::ProcessExit>().size() == 2);
    CHECK(without_ledger(capture) == 2);
    REQUIRE(capture.statistics.losses.count("ledger_table_full") == 1);
    CHECK(capture.statistics.losses.at("ledger_table_full") == 2);
  }
}

TEST_CASE("processes with several threads without room for their ledgers are counted once each" *
          doctest::test_suite("waits native")) {
  for (const std::size_t max_threads : {8u, 4096u}) {
    CAPTURE(max_threads);
    tracer::SessionOptions options;
    // Of processes with several threads: for 16 and 16.
    options.max_processes = 64;
    options.max_threads = max_threads;
    const Capture capture = take_in(hold(truth::call("crews_beyond_room", {"60"})), options);
    CHECK(capture.other_exits().size() == 60);
    const std::size_t unknown = without_ledger(capture);
    CHECK(unknown >= 60 - 32);
    REQUIRE(capture.statistics.losses.count("ledger_table_full") == 1);
    CHECK(capture.statistics.losses.at("ledger_table_full") == unknown);
    CHECK(capture.statistics.lost() == unknown);
  }
}
