// SPDX-License-Identifier: Apache-2.0
/// Ends in a seldom order, tables that are full, and what the kernel refuses in the middle.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <sstream>
#include <vector>

#include <doctest/doctest.h>

#include "capture.hpp"
#include "kept.hpp"
#include "source/kernel/kernel_source.hpp"
#include "truth.hpp"

namespace {

/// Pairs of numbers that a truth program has told, a line each.
std::vector<std::pair<std::uint64_t, std::uint64_t>> told_pairs(const Capture& capture) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
  std::istringstream lines(capture.output);
  for (std::uint64_t first = 0, second = 0; lines >> first >> second;) pairs.emplace_back(first, second);
  return pairs;
}

/// While it lives this process can open nothing.
class NoDescriptors {
 public:
  NoDescriptors() {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const rlimit none = {0, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("where no room is left for the sums of threads, ends are told, and no account" *
          doctest::test_suite("native")) {
  // Room for 4,096 sums, and for 6,144 processes.
  constexpr std::size_t kCrowd = 4600;
  tracer::SessionOptions options;
  options.max_processes = 4096;
  options.ring_bytes = 16u << 20;
  const Capture capture = trace(truth::call("threaded_crowd", {std::to_string(kCrowd)}), options);
  REQUIRE(capture.status == 0);
  const std::vector<tracer::ProcessExit> exits = capture.other_exits();
  CHECK(exits.size() == kCrowd);
  std::size_t unknown = 0;
  for (const auto& exit : exits) {
    CHECK(exit.exit_code == 7);
    unknown += exit.account.cpu_ns.has_value() ? 0 : 1;
    CHECK(exit.account.cpu_ns.has_value() == exit.account.written_bytes.has_value());
    if (!exit.account.cpu_ns) CHECK_FALSE(exit.account.ledger.has_value());
    // Each has told that it is there.
    if (exit.account.written_bytes) CHECK(*exit.account.written_bytes >= 1);
  }
  const auto losses = capture.statistics.losses;
  REQUIRE(losses.count("thread_table_full") == 1);
  CHECK(losses.at("thread_table_full") == unknown);
  CHECK(unknown >= kCrowd - 4096);
  CHECK(unknown < kCrowd / 2);
  REQUIRE(capture.totals.size() == 1);
  CHECK_FALSE(capture.totals.front().account.cpu_ns.has_value());
  CHECK(capture.totals.front().ended == kCrowd + 1);
}

TEST_CASE("there is room for max_processes and max_threads, whatever their ids" * doctest::test_suite("native")) {
  tracer::SessionOptions options;
  options.max_processes = 1024;
  options.max_threads = 1024;
  const Capture capture = trace(truth::call("scattered_crowd", {"1023"}), options);
  REQUIRE(WIFEXITED(capture.status));
  if (WEXITSTATUS(capture.status) == 77) return;
  CHECK(capture.statistics.lost() == 0);
  CHECK(capture.other_exits().size() == 1023);
  for (const auto& exit : capture.other_exits()) CHECK(exit.account.ledger.has_value());
}

TEST_CASE("the time of threads that an exec has ended is in the account of their process, though it ends at once" *
          doctest::test_suite("essential")) {
  const Capture capture = trace(truth::call("exec_from_threads", {"40"}));
  REQUIRE(capture.status == 0);
  std::map<std::uint64_t, tracer::ProcessExit> exits;
  for (const auto& exit : capture.other_exits()) exits.emplace(exit.process->pid, exit);
  const auto told = told_pairs(capture);
  REQUIRE(told.size() == 40);
  for (const auto& [pid, cpu_ns] : told) {
    REQUIRE(exits.count(pid) == 1);
    REQUIRE(exits.at(pid).account.cpu_ns.has_value());
    const auto seen_ns = static_cast<double>(*exits.at(pid).account.cpu_ns);
    const auto told_ns = static_cast<double>(cpu_ns);
    // The kernel has told before a thread's last steps, which take an emulated machine longer.
    CHECK(seen_ns >= 0.99 * told_ns);
    CHECK(seen_ns <= (::getenv("TRACER_EMULATED") != nullptr ? 1.5 : 1.05) * told_ns);
  }
}

TEST_CASE("on one CPU, too, where the program may have ended before the threads of the one before have" *
          doctest::test_suite("essential")) {
  std::size_t ended_late = 0;
  std::size_t seen = 0;
  for (int round = 0; round < 2 && ended_late == 0; ++round) {
    using namespace tracer::internal;
    int output[2];
    REQUIRE(::pipe2(output, O_CLOEXEC) == 0);
    KernelSourceOptions options;
    options.rules = {tree(::getpid(), 0)};
    const auto source = kernel_source(options);
    Kept kept;
    source->start(kept);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::dup2(output[1], STDOUT_FILENO);
      truth::execute(truth::call("exec_from_threads", {"40", "on one CPU"}));
    }
    ::close(output[1]);
    Capture capture;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(output[0], buffer, sizeof buffer)) > 0;)
      capture.output.append(buffer, static_cast<std::size_t>(got));
    ::close(output[0]);
    int status = -1;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    REQUIRE(status == 0);
    source->stop();
    while (source->drain(kept, {})) continue;
    std::map<std::uint64_t, std::uint64_t> told;
    for (const auto& [child, cpu_ns] : told_pairs(capture)) told.emplace(child, cpu_ns);
    REQUIRE(told.size() == 40);
    for (const ExitRecord& exit : kept.all<ExitRecord>()) {
      const auto truth = told.find(exit.identity.pid);
      if (truth == told.end()) continue;
      ++seen;
      // Of a thread that was switched away for the last time when the new program was there already.
      ended_late += exit.late.cpu_ns != 0 ? 1 : 0;
      const auto seen_ns = static_cast<double>(exit.total.cpu_ns);
      const auto told_ns = static_cast<double>(truth->second);
      CHECK(seen_ns >= 0.99 * told_ns);
      CHECK(seen_ns <= (::getenv("TRACER_EMULATED") != nullptr ? 1.5 : 1.05) * told_ns);
    }
    CHECK(seen == static_cast<std::size_t>(40 * (round + 1)));
  }
  // A kernel that preempts nothing in the middle of its own work lets the threads end first.
  if (ended_late == 0) MESSAGE("on this kernel no thread ended after the next program had begun");
}

TEST_CASE("two that wait for pipes are told apart, whatever their ids have in common" *
          doctest::test_suite("waits essential")) {
  // Waiters share a place by the low bits of their ids, the first two here one, the others none. How many wait is
  // counted in each, so that one that goes on does not hide the other.
  for (const char* apart : {"8192", "4096"}) {
    CAPTURE(apart);
    const Capture capture = trace(truth::call("pipe_waiters_apart", {apart}));
    REQUIRE(WIFEXITED(capture.status));
    if (WEXITSTATUS(capture.status) == 77) return;  // Ids can't be chosen here.
    REQUIRE(capture.status == 0);
    const auto told = told_pairs(capture);
    REQUIRE(told.size() == 1);
    for (const auto& exit : capture.other_exits()) {
      if (exit.process->pid != told.front().first) continue;
      REQUIRE(exit.account.ledger.has_value());
      CHECK(exit.account.ledger->pipe_read_peer_pid.value_or(0) == told.front().second);
    }
  }
}

TEST_CASE("a snapshot that the kernel refuses is counted, and does not say that nothing lives" *
          doctest::test_suite("essential")) {
  tracer::SessionOptions options;
  options.filter.include_tree(::getpid());
  tracer::Session session(std::move(options));
  session.start();
  CHECK(session.living().size() >= 1);
  {
    const NoDescriptors none;
    CHECK_THROWS_AS(session.living(), tracer::Error);
  }
  CHECK(session.living().size() >= 1);
  CHECK(session.statistics().losses.at("snapshot_failed") >= 1);
  session.stop();
}
