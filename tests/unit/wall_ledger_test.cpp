// SPDX-License-Identifier: Apache-2.0
/// Where the time of several processes together went: bounds that hold the truth.
#include "insight/wall_ledger.hpp"

#include <cstdint>

#include <doctest/doctest.h>

using namespace tracer;
using tracer::internal::Chain;
using tracer::internal::CountedSpan;
using tracer::internal::LifeSpan;
using tracer::internal::PipePeers;
using tracer::internal::WallLedger;

namespace {

constexpr std::uint64_t kMs = 1'000'000;

/// Times in milliseconds.
struct Did {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t ran = 0;
  std::uint64_t pipe = 0;
  std::uint64_t disk = 0;
  std::uint64_t sleep = 0;
  std::uint64_t child = 0;
  std::uint64_t queue = 0;
  std::uint64_t lock = 0;
  PipePeers peers = PipePeers::kInside;
};

LifeSpan span(const Did& did) {
  LifeSpan span{did.from * kMs, did.to * kMs};
  span.ledger.running_ns = did.ran * kMs;
  span.ledger.pipe_ns = did.pipe * kMs;
  span.ledger.disk_ns = did.disk * kMs;
  span.ledger.sleep_ns = did.sleep * kMs;
  span.ledger.child_ns = did.child * kMs;
  span.ledger.run_queue_ns = did.queue * kMs;
  span.ledger.lock_ns = did.lock * kMs;
  span.pipe_peers = did.peers;
  return span;
}

TaskLedger ledger_of(std::initializer_list<Did> all, std::uint64_t end_ms, std::uint32_t cpus = 2) {
  WallLedger wall(0, cpus);
  for (const Did& each : all) wall.add(span(each));
  return wall.until(0, end_ms * kMs);
}

std::uint64_t sum_of(const TaskLedger& ledger) {
  return ledger.computing_ns + ledger.queued_ns + ledger.throttled_ns + ledger.disk_ns + ledger.network_ns +
         ledger.pipe_ns + ledger.local_socket_ns + ledger.lock_ns + ledger.sleep_ns + ledger.poll_ns +
         ledger.memory_ns + ledger.stopped_ns + ledger.other_ns;
}

/// To a millisecond: shares are rounded.
void check_ms(std::uint64_t ns, std::uint64_t expected_ms) {
  CHECK(ns + kMs > expected_ms * kMs);
  CHECK(ns < (expected_ms + 1) * kMs);
}

}  // namespace

TEST_CASE("a shell that waits for its child computes while the child does") {
  const TaskLedger ledger =
      ledger_of({{.from = 100, .to = 9900, .ran = 9800}, {.to = 10000, .ran = 20, .child = 9980}}, 10000, 1);
  check_ms(ledger.computing_at_most_ns, 9820);
  CHECK(ledger.computing_ns >= 9800 * kMs);
  CHECK(sum_of(ledger) == ledger.wall_ns);
}

TEST_CASE("the stages of a pipe wait for each other: the task computes all the time") {
  const TaskLedger ledger = ledger_of({{.to = 10000, .ran = 7000, .pipe = 3000},
                                       {.to = 10000, .ran = 5000, .pipe = 5000},
                                       {.to = 10000, .child = 10000}},
                                      10000);
  check_ms(ledger.computing_ns, 10000);
  check_ms(ledger.computing_at_most_ns, 10000);
  CHECK(ledger.pipe_ns == 0);
}

TEST_CASE("a pipe to another task is a cause") {
  const TaskLedger ledger = ledger_of({{.to = 10000, .ran = 4000, .pipe = 6000, .peers = PipePeers::kOutside}}, 10000);
  check_ms(ledger.computing_ns, 4000);
  check_ms(ledger.pipe_ns, 6000);
}

TEST_CASE("a producer that sleeps is what its pipe waits for") {
  const TaskLedger ledger =
      ledger_of({{.to = 10000, .ran = 1000, .sleep = 9000}, {.to = 10000, .ran = 1000, .pipe = 9000}}, 10000);
  check_ms(ledger.computing_ns, 1000);
  check_ms(ledger.computing_at_most_ns, 2000);
  check_ms(ledger.sleep_ns, 9000);
  CHECK(sum_of(ledger) == ledger.wall_ns);
}

TEST_CASE("a pipe that nobody has used yet explains what nothing else does") {
  const Did waits{.to = 10000, .pipe = 10000, .peers = PipePeers::kUnknown};
  const TaskLedger beside = ledger_of({{.to = 10000, .ran = 6000, .sleep = 4000}, waits}, 10000);
  check_ms(beside.computing_ns, 6000);
  check_ms(beside.sleep_ns, 4000);
  CHECK(beside.pipe_ns == 0);
  const TaskLedger alone = ledger_of({waits}, 10000);
  check_ms(alone.pipe_ns, 10000);
}

TEST_CASE("what came one after another adds up; what came at once does not") {
  const TaskLedger one_by_one = ledger_of({{.to = 4000, .ran = 4000}, {.from = 4000, .to = 8000, .ran = 4000}}, 8000);
  check_ms(one_by_one.computing_ns, 8000);
  const TaskLedger at_once =
      ledger_of({{.to = 8000, .ran = 4000, .lock = 4000}, {.to = 8000, .ran = 4000, .lock = 4000}}, 8000);
  check_ms(at_once.computing_ns, 4000);
  check_ms(at_once.computing_at_most_ns, 8000);
}

TEST_CASE("two that take turns on the one CPU that they may use compute all the time") {
  WallLedger wall(0, 2);
  wall.has_cpus(1);
  wall.add(span({.to = 1000, .ran = 500, .queue = 500}));
  wall.add(span({.to = 1000, .ran = 500, .queue = 500}));
  // In the first window there were two CPUs.
  wall.close(1000 * kMs);
  check_ms(wall.ledger().computing_ns, 500);
  wall.add(span({.from = 1000, .to = 3000, .ran = 1000, .queue = 1000}));
  wall.add(span({.from = 1000, .to = 3000, .ran = 1000, .queue = 1000}));
  wall.release(3000 * kMs);
  check_ms(wall.ledger().computing_ns, 2500);
  check_ms(wall.ledger().computing_at_most_ns, 3000);
}

TEST_CASE("four that compute on two CPUs compute all the time") {
  Did worker{.to = 10000, .ran = 5000, .queue = 5000};
  const TaskLedger ledger = ledger_of({worker, worker, worker, worker}, 10000);
  check_ms(ledger.computing_ns, 10000);
  CHECK(ledger.queued_ns == 0);
}

TEST_CASE("a straggler") {
  const TaskLedger ledger =
      ledger_of({{.to = 2000, .ran = 2000}, {.to = 10000, .ran = 10000}, {.to = 10000, .child = 10000}}, 10000);
  check_ms(ledger.computing_ns, 10000);
  check_ms(ledger.computing_at_most_ns, 10000);
}

TEST_CASE("a helper that sleeps all the time says little of what the others wait for") {
  const TaskLedger ledger = ledger_of({{.to = 10000, .ran = 5000, .disk = 5000}, {.to = 10000, .sleep = 10000}}, 10000);
  check_ms(ledger.computing_ns, 5000);
  CHECK(ledger.disk_ns > 4500 * kMs);
  CHECK(ledger.sleep_ns < 500 * kMs);
  CHECK(sum_of(ledger) == ledger.wall_ns);
}

TEST_CASE("locks explain what nothing else does") {
  const TaskLedger convoy = ledger_of({{.to = 10000, .ran = 6000, .lock = 4000}}, 10000);
  check_ms(convoy.lock_ns, 4000);
  const TaskLedger beside =
      ledger_of({{.to = 10000, .ran = 6000, .lock = 4000}, {.to = 10000, .ran = 100, .disk = 9900}}, 10000);
  CHECK(beside.lock_ns == 0);
  CHECK(beside.disk_ns >= 3800 * kMs);
}

TEST_CASE("time in which nothing lived is nobody's") {
  const TaskLedger ledger = ledger_of({{.to = 2000, .ran = 2000}, {.from = 6000, .to = 8000, .ran = 2000}}, 8000);
  check_ms(ledger.computing_ns, 4000);
  check_ms(ledger.other_ns, 4000);
}

TEST_CASE("windows: bounds of each are those of its own time") {
  WallLedger wall(0, 2);
  // One computes in the first half, the other in the second.
  wall.add(span({.to = 5000, .ran = 5000}));
  wall.add(span({.to = 5000, .pipe = 5000}));
  wall.close(5000 * kMs);
  CHECK(wall.ledger().wall_ns == 5000 * kMs);
  wall.add(span({.from = 5000, .to = 10000, .pipe = 5000}));
  wall.add(span({.from = 5000, .to = 10000, .ran = 5000}));
  const TaskLedger ledger = wall.until(0, 10000 * kMs);
  check_ms(ledger.computing_ns, 10000);
  check_ms(ledger.computing_at_most_ns, 10000);
}

TEST_CASE("a task that began later than its first process was seen") {
  WallLedger wall(0, 2);
  wall.add(span({.from = 3000, .to = 10000, .ran = 7000}));
  const TaskLedger ledger = wall.until(3000 * kMs, 10000 * kMs);
  CHECK(ledger.wall_ns == 7000 * kMs);
  check_ms(ledger.computing_ns, 7000);
  CHECK(sum_of(ledger) == ledger.wall_ns);
}

namespace {

/// What the kernel counted of all together. Times in milliseconds.
CountedSpan counted(const Did& did, std::uint64_t open = 0) {
  CountedSpan counted{span(did).ledger, open * kMs};
  counted.ledger.other_ns += open * kMs;
  return counted;
}

}  // namespace

TEST_CASE("what the kernel counts of all together has no bounds") {
  WallLedger wall(0, 2);
  wall.count_from(0);
  wall.add(span({.to = 10000, .ran = 4000, .sleep = 6000}));
  wall.add(span({.to = 10000, .ran = 4000, .disk = 3000, .lock = 3000}));
  wall.count(counted({.ran = 6000, .disk = 1000, .queue = 500, .lock = 500}, 2000));
  const TaskLedger ledger = wall.until(0, 10000 * kMs);
  check_ms(ledger.computing_ns, 6000);
  check_ms(ledger.computing_at_most_ns, 6000);
  check_ms(ledger.queued_ns, 500);
  check_ms(ledger.lock_ns, 500);
  // What nothing has ended is shared by what they waited for.
  CHECK(ledger.disk_ns >= 1000 * kMs);
  CHECK(ledger.disk_ns + ledger.sleep_ns >= 2990 * kMs);
  CHECK(sum_of(ledger) == ledger.wall_ns);
}

TEST_CASE("before the kernel counted there are bounds, and beside what it missed") {
  WallLedger wall(0, 2);
  wall.count_from(2000 * kMs);
  wall.add(span({.to = 10000, .ran = 5000, .sleep = 5000}));
  wall.add(span({.to = 10000, .ran = 5000, .sleep = 5000}));
  wall.missed(300 * kMs);
  wall.count(counted({.ran = 6000, .sleep = 2000}));
  TaskLedger ledger = wall.until(0, 10000 * kMs);
  check_ms(ledger.computing_ns, 6000);
  check_ms(ledger.computing_at_most_ns, 8300);
  wall.close(10000 * kMs);
  wall.add(span({.from = 10000, .to = 20000, .ran = 5000, .sleep = 5000}));
  wall.add(span({.from = 10000, .to = 20000, .ran = 5000, .sleep = 5000}));
  wall.count(counted({.ran = 9000, .sleep = 1000}));
  ledger = wall.until(0, 20000 * kMs);
  check_ms(ledger.computing_ns, 15000);
  check_ms(ledger.computing_at_most_ns, 17300);
  CHECK(sum_of(ledger) == ledger.wall_ns);
}

TEST_CASE("what the kernel counted a moment after a window belongs to the next") {
  WallLedger wall(0, 2);
  wall.count_from(0);
  wall.add(span({.to = 1000, .ran = 1000}));
  wall.count(counted({.ran = 1030}));
  wall.close(1000 * kMs);
  wall.add(span({.from = 1000, .to = 2000, .ran = 1000}));
  wall.count(counted({.ran = 970}));
  wall.close(2000 * kMs);
  check_ms(wall.ledger().computing_ns, 2000);
  check_ms(wall.ledger().computing_at_most_ns, 2000);
}

TEST_CASE("a helper that wakes again and again says little of what the others wait for, also when it is counted") {
  WallLedger wall(0, 2);
  wall.count_from(0);
  wall.add(span({.to = 10000, .ran = 3000, .disk = 7000}));
  wall.add(span({.to = 10000, .ran = 10, .sleep = 9990}));
  wall.count(counted({.ran = 3010, .disk = 10, .sleep = 6980}));
  const TaskLedger ledger = wall.until(0, 10000 * kMs);
  check_ms(ledger.computing_ns, 3010);
  CHECK(ledger.disk_ns > 6000 * kMs);
  CHECK(sum_of(ledger) == ledger.wall_ns);
}

TEST_CASE("a short wait for the disk is not what all have slept for") {
  WallLedger wall(0, 2);
  wall.count_from(0);
  wall.add(span({.to = 10000, .ran = 3000, .disk = 2000, .sleep = 5000}));
  wall.count(counted({.ran = 3000, .disk = 2000, .sleep = 5000}));
  const TaskLedger ledger = wall.until(0, 10000 * kMs);
  check_ms(ledger.disk_ns, 2000);
  check_ms(ledger.sleep_ns, 5000);
}

TEST_CASE("what is no more counted has bounds again") {
  WallLedger wall(0, 2);
  wall.count_from(0);
  wall.add(span({.to = 1000, .ran = 500, .sleep = 500}));
  wall.count(counted({.ran = 500, .sleep = 500}));
  wall.close(1000 * kMs);
  wall.count_no_more();
  wall.add(span({.from = 1000, .to = 2000, .ran = 500, .sleep = 500}));
  wall.add(span({.from = 1000, .to = 2000, .ran = 500, .sleep = 500}));
  const TaskLedger ledger = wall.until(0, 2000 * kMs);
  check_ms(ledger.computing_ns, 1000);
  check_ms(ledger.computing_at_most_ns, 1500);
}

TEST_CASE("a chain of spans finds the most that do not overlap, and forgets within bounds") {
  Chain chain;
  chain.add(0, 10, 5);
  chain.add(0, 20, 12);
  chain.add(10, 20, 9);
  CHECK(chain.best() == 14);
  Chain many;
  for (std::uint64_t i = 0; i < 100000; ++i) many.add(i * 10, i * 10 + 10, 10);
  CHECK(many.best() == 1000000);
}

TEST_CASE("a poll that lasted at a snapshot, and turned out to be a wait for a local socket, is no poll") {
  const auto polls = [](std::uint64_t from_ms, std::uint64_t to_ms, std::uint64_t poll_ms, std::uint64_t socket_ms) {
    LifeSpan did = span({.from = from_ms, .to = to_ms});
    did.ledger.poll_ns = poll_ms * kMs;
    did.ledger.local_socket_ns = socket_ms * kMs;
    return did;
  };
  for (const bool closed : {true, false}) {
    WallLedger wall(0, 2);
    wall.add(polls(0, 235, 235, 0));
    if (closed) wall.close(235 * kMs);
    wall.poll_was(WallLedger::PollCause::kLocalSocket, 235 * kMs, 235 * kMs);
    wall.add(polls(235, 612, 0, 377));
    const TaskLedger ledger = wall.until(0, 612 * kMs);
    check_ms(ledger.local_socket_ns, 612);
    CHECK(ledger.poll_ns < kMs);
    CHECK(sum_of(ledger) == ledger.wall_ns);
  }
}

TEST_CASE("of a poll that was none, no more is taken off than the polls of all have in the sums") {
  WallLedger wall(0, 2);
  LifeSpan did = span({.to = 100, .ran = 60});
  did.ledger.poll_ns = 40 * kMs;
  wall.add(did);
  wall.add(span({.to = 100, .ran = 50, .sleep = 50}));
  wall.close(100 * kMs);
  const std::uint64_t poll_ns = wall.ledger().poll_ns;
  CHECK(poll_ns < 40 * kMs);
  wall.poll_was(WallLedger::PollCause::kOutsidePipe, 100 * kMs, 40 * kMs);
  CHECK(wall.ledger().poll_ns + wall.ledger().pipe_ns == poll_ns);
  CHECK(wall.ledger().poll_ns < kMs);
  wall.poll_was(WallLedger::PollCause::kOutsidePipe, 100 * kMs, 400 * kMs);
  CHECK(wall.ledger().poll_ns == 0);
  CHECK(sum_of(wall.ledger()) == wall.ledger().wall_ns);
}
