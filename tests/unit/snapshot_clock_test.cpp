// SPDX-License-Identifier: Apache-2.0
#include "session/snapshot_clock.hpp"

#include <vector>

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using tracer::internal::SnapshotClock;

namespace {

using Clock = SnapshotClock::Clock;

/// On a clock that may have any time at the session's start.
Clock::time_point at(Clock::duration since_start) { return Clock::time_point(12'345s) + since_start; }

SnapshotClock started(Clock::duration interval) {
  SnapshotClock clock(interval);
  clock.start(at(0s));
  return clock;
}

}  // namespace

TEST_CASE("the first snapshot is due a fifth of the interval early") {
  const SnapshotClock clock = started(1s);
  CHECK_FALSE(clock.due(at(0s)));
  CHECK_FALSE(clock.due(at(799ms)));
  CHECK(clock.due(at(800ms)));
  CHECK(clock.due(at(1s)));
  CHECK(started(100ms).due(at(80ms)));
  CHECK_FALSE(started(100ms).due(at(79ms)));
}

TEST_CASE("snapshots taken early or late do not move those after") {
  for (const auto begin : {800ms, 1000ms, 1300ms, 1500ms}) {
    SnapshotClock clock = started(1s);
    clock.took(at(begin), at(begin + 1ms), 0ms, false);
    CAPTURE(begin.count());
    CHECK_FALSE(clock.due(at(1799ms)));
    CHECK(clock.due(at(1800ms)));
  }
}

TEST_CASE("after one that came more than half an interval late the next is due an interval later") {
  SnapshotClock clock = started(1s);
  clock.took(at(1501ms), at(1502ms), 0ms, false);
  CHECK_FALSE(clock.due(at(2300ms)));
  CHECK(clock.due(at(2301ms)));
}

TEST_CASE("after a dear snapshot the next waits sixty times its cost, from its end, and none of that is cut short") {
  SnapshotClock clock = started(1s);
  clock.took(at(1s), at(1100ms), 0ms, false);
  CHECK_FALSE(clock.due(at(2s)));
  CHECK_FALSE(clock.due(at(6s)));
  CHECK_FALSE(clock.due(at(7099ms)));
  CHECK(clock.due(at(7100ms)));
  clock.took(at(7100ms), at(7101ms), 0ms, false);
  CHECK_FALSE(clock.due(at(7899ms)));
  CHECK(clock.due(at(7900ms)));
}

TEST_CASE("a rest that is over before the next snapshot is due changes nothing") {
  SnapshotClock clock = started(1s);
  clock.took(at(1s), at(1008ms), 0ms, false);
  CHECK_FALSE(clock.due(at(1799ms)));
  CHECK(clock.due(at(1800ms)));
}

TEST_CASE("a rest that ends a little after the next snapshot would be due moves that one only") {
  SnapshotClock clock = started(1s);
  clock.took(at(1s), at(1016ms), 0ms, false);
  CHECK_FALSE(clock.due(at(1975ms)));
  CHECK(clock.due(at(1976ms)));
  clock.took(at(1976ms), at(1977ms), 0ms, false);
  CHECK_FALSE(clock.due(at(2799ms)));
  CHECK(clock.due(at(2800ms)));
}

TEST_CASE("snapshots that were missed are not made up for") {
  SnapshotClock clock = started(1s);
  clock.took(at(10s), at(10s + 1ms), 0ms, false);
  CHECK_FALSE(clock.due(at(10'100ms)));
  CHECK_FALSE(clock.due(at(10'799ms)));
  CHECK(clock.due(at(10'800ms)));
  int taken = 0;
  for (auto now = 20s + 500ms; now < 25s + 200ms; now += 100ms) {
    if (!clock.due(at(now))) continue;
    ++taken;
    clock.took(at(now), at(now + 1ms), 0ms, false);
  }
  CHECK(taken == 5);
}

TEST_CASE("what has begun is looked at after a fifth of the interval, and again as long as memory moves") {
  SnapshotClock clock = started(1s);
  clock.moves(at(10ms));
  CHECK_FALSE(clock.due(at(160ms)));
  CHECK(clock.due(at(210ms)));
  clock.took(at(210ms), at(210ms), 0ms, true);
  CHECK_FALSE(clock.due(at(360ms)));
  CHECK(clock.due(at(410ms)));
}

TEST_CASE("when nothing moves any more snapshots become rarer, down to one in an interval") {
  SnapshotClock clock = started(1s);
  clock.moves(at(0s));
  std::vector<Clock::duration> taken;
  for (auto now = 0ms; now < 10s; now += 100ms) {
    if (!clock.due(at(now))) continue;
    taken.push_back(now);
    clock.took(at(now), at(now), 0ms, false);
  }
  REQUIRE(taken.size() > 8);
  CHECK(taken.size() < 18);
  CHECK(taken[1] - taken[0] < 500ms);
  CHECK(taken.back() - taken[taken.size() - 2] >= 800ms);
}

TEST_CASE("an expensive snapshot is not taken early") {
  SnapshotClock clock = started(1s);
  clock.moves(at(0s));
  clock.took(at(200ms), at(201ms), 10ms, true);
  CHECK_FALSE(clock.due(at(600ms)));
  CHECK(clock.due(at(800ms)));
}

TEST_CASE("one that took long only because others had the CPU is followed by early ones all the same") {
  SnapshotClock clock = started(1s);
  clock.moves(at(0s));
  clock.took(at(200ms), at(210ms), 1ms, true);
  CHECK_FALSE(clock.due(at(350ms)));
  CHECK(clock.due(at(400ms)));
}

TEST_CASE("with the shortest interval nothing is taken more often") {
  SnapshotClock clock = started(100ms);
  clock.moves(at(0s));
  clock.took(at(100ms), at(100ms), 0ms, true);
  CHECK_FALSE(clock.due(at(170ms)));
  CHECK(clock.due(at(180ms)));
}

TEST_CASE("at rest snapshots become rarer, down to one in five intervals") {
  SnapshotClock clock = started(1s);
  std::vector<Clock::duration> taken;
  for (auto now = 0ms; now < 40s; now += 100ms) {
    if (!clock.due(at(now))) continue;
    taken.push_back(now);
    clock.took(at(now), at(now), 0ms, false, true);
  }
  REQUIRE(taken.size() > 7);
  CHECK(clock.rests());
  CHECK(taken[1] - taken[0] < 2s);
  CHECK(taken.back() - taken[taken.size() - 2] > 4s);
  CHECK(taken.back() - taken[taken.size() - 2] <= 5s);
}

TEST_CASE("what moves, begins or is wanted ends the rest") {
  const auto resting = [] {
    SnapshotClock clock = started(1s);
    for (auto now = 1s; now <= 20s; now += 5s) clock.took(at(now), at(now), 0ms, false, true);
    return clock;
  };
  SnapshotClock clock = resting();
  REQUIRE(clock.rests());
  CHECK_FALSE(clock.due(at(18s)));
  clock.wake(at(18s));
  CHECK_FALSE(clock.rests());
  CHECK_FALSE(clock.due(at(18'799ms)));
  CHECK(clock.due(at(18'800ms)));
  clock = resting();
  clock.moves(at(18s));
  CHECK_FALSE(clock.rests());
  CHECK(clock.due(at(18'200ms)));
  for (const bool moved : {false, true}) {
    clock = resting();
    clock.took(at(20s), at(20s), 0ms, moved, moved);
    CAPTURE(moved);
    CHECK_FALSE(clock.rests());
    CHECK(clock.due(at(21s)));
  }
}

TEST_CASE("a long interval is not made longer at rest, and what is wanted before it is over does not end it") {
  SnapshotClock clock = started(10s);
  for (auto now = 10s; now <= 50s; now += 10s) clock.took(at(now), at(now), 0ms, false, true);
  CHECK_FALSE(clock.rests());
  CHECK(clock.due(at(60s)));
  clock.wake(at(51s));
  CHECK_FALSE(clock.due(at(57s)));
}
