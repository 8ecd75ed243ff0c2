// SPDX-License-Identifier: Apache-2.0
/// Where the wall time of several processes together went: counted in the kernel.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/session.hpp>

#include "capture.hpp"
#include "ledger_expect.hpp"
#include "truth.hpp"

namespace {

using expect::kMillisecond;

bool emulated() { return std::getenv("TRACER_EMULATED") != nullptr; }

tracer::Context run_context() {
  tracer::Context context;
  context.run = "r1";
  return context;
}

struct Together {
  tracer::TaskLedger ledger;
  std::uint64_t wall_ns = 0;  ///< Since it was followed.
  std::uint64_t ran_ns = 0;   ///< One of them at least, by their own observation.
  std::uint64_t sum_ns = 0;
  std::uint64_t cpu_ns = 0;
};

std::uint64_t sum_of(const tracer::TaskLedger& ledger) {
  return ledger.computing_ns + ledger.queued_ns + ledger.throttled_ns + ledger.disk_ns + ledger.network_ns +
         ledger.pipe_ns + ledger.local_socket_ns + ledger.lock_ns + ledger.sleep_ns + ledger.poll_ns +
         ledger.memory_ns + ledger.stopped_ns + ledger.other_ns;
}

std::uint64_t tolerance_ns(const Together& seen) {
  return seen.wall_ns / (emulated() ? 25 : 100) + (emulated() ? 200 : 10) * kMillisecond;
}

/// What they did beside what they saw: the kernel's work for them, which is most where a machine is emulated.
std::uint64_t unseen_ns(const Together& seen) { return seen.cpu_ns - std::min(seen.cpu_ns, seen.sum_ns); }

Together together(const std::vector<std::string>& workers) {
  const Capture capture = trace(truth::call("together", workers), {}, run_context());
  REQUIRE(capture.status == 0);
  const auto runs = capture.all<tracer::RunFinish>();
  REQUIRE(runs.size() == 1);
  REQUIRE(runs[0].task_ledger.has_value());
  const auto told = expect::told(capture);
  const std::uint64_t from_ns = capture.exit().attached_ns.value_or(runs[0].begin_ns);
  return {*runs[0].task_ledger, runs[0].end_ns - from_ns, told.at(0), told.at(1),
          runs[0].totals.account.cpu_ns.value()};
}

void check_bounds(const Together& seen) {
  const tracer::TaskLedger& ledger = seen.ledger;
  CAPTURE(ledger.wall_ns);
  CAPTURE(ledger.computing_ns);
  CAPTURE(ledger.computing_at_most_ns);
  CAPTURE(ledger.queued_ns);
  CAPTURE(ledger.sleep_ns);
  CAPTURE(ledger.pipe_ns);
  CAPTURE(ledger.other_ns);
  CAPTURE(seen.ran_ns);
  CAPTURE(seen.sum_ns);
  CAPTURE(seen.cpu_ns);
  CAPTURE(seen.wall_ns);
  CHECK(ledger.computing_ns <= seen.ran_ns + unseen_ns(seen) + tolerance_ns(seen));
  CHECK(ledger.computing_at_most_ns + tolerance_ns(seen) >= seen.ran_ns);
  CHECK(expect::distance(sum_of(ledger), ledger.wall_ns) <= ledger.wall_ns / 100);
}

void check_close(const Together& seen) {
  check_bounds(seen);
  // The session begins to count when it reads of the first process, some 200 ms later; emulated, much later.
  if (!emulated()) CHECK(seen.ledger.computing_at_most_ns - seen.ledger.computing_ns <= seen.wall_ns / 20);
}

}  // namespace

TEST_CASE("jobs that compute and sleep each in its own time" * doctest::test_suite("waits essential")) {
  check_close(together({"300:b7 s11", "250:b11 s9", "350:b5 s13", "200:b9 s17"}));
}

TEST_CASE("a pipe of three stages, of which two may compute at once" * doctest::test_suite("waits essential")) {
  const Together seen = together({"800:b4 s3 w", "800:r b5 w", "800:r b3"});
  check_close(seen);
  // What one stage waits for another does: nothing of it was a wait of them all but where the first one sleeps.
  CHECK(seen.ledger.pipe_ns <= tolerance_ns(seen));
}

TEST_CASE("stages that hand one token on compute in turns" * doctest::test_suite("waits essential")) {
  check_close(together({"40:b10 w s30", "40:r b10 w", "40:r b10"}));
}

TEST_CASE("a producer that sleeps is what all wait for" * doctest::test_suite("waits essential")) {
  const Together seen = together({"20:s50 b2 w", "20:r b3 w", "20:r b2"});
  check_close(seen);
  const std::uint64_t waited = seen.ledger.sleep_ns + seen.ledger.queued_ns;
  CHECK(waited + seen.ran_ns + unseen_ns(seen) + tolerance_ns(seen) >= seen.wall_ns);
  CHECK(seen.ledger.pipe_ns <= tolerance_ns(seen));
}

TEST_CASE("a fork, a join, and a straggler that sleeps in between" * doctest::test_suite("waits")) {
  check_close(together({"1:b2000", "1:b2000", "50:b100 s50"}));
}

TEST_CASE("two that compute at once are two at a time" * doctest::test_suite("waits native")) {
  const Together seen = together({"200:b20 s10", "200:b20 s10"});
  check_close(seen);
  // How many at a time: by CPU time and by what they saw.
  CHECK(expect::distance(seen.cpu_ns, seen.sum_ns) <= tolerance_ns(seen) + seen.ran_ns / 20);
}
