// SPDX-License-Identifier: Apache-2.0
#include "dispatch/snapshot_clock.hpp"

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
  for (const auto begin : {800ms, 1000ms, 1300ms}) {
    SnapshotClock clock = started(1s);
    clock.took(at(begin), at(begin + 1ms));
    CAPTURE(begin.count());
    CHECK_FALSE(clock.due(at(1799ms)));
    CHECK(clock.due(at(1800ms)));
  }
}

TEST_CASE("after a dear snapshot the next is due fifty times its cost later") {
  SnapshotClock clock = started(1s);
  clock.took(at(1s), at(1100ms));
  CHECK_FALSE(clock.due(at(2s)));
  CHECK_FALSE(clock.due(at(5799ms)));
  CHECK(clock.due(at(6s)));
  clock.took(at(6s), at(6001ms));
  CHECK_FALSE(clock.due(at(6799ms)));
  CHECK(clock.due(at(7s)));
}

TEST_CASE("a cost of a fiftieth of the interval changes nothing") {
  SnapshotClock clock = started(1s);
  clock.took(at(1s), at(1020ms));
  CHECK(clock.due(at(1800ms)));
}

TEST_CASE("of many missed snapshots at most one is made up for") {
  SnapshotClock clock = started(1s);
  int taken = 0;
  for (auto now = 10s + 500ms; now < 15s + 200ms; now += 100ms) {
    if (!clock.due(at(now))) continue;
    ++taken;
    clock.took(at(now), at(now + 1ms));
  }
  CHECK(taken >= 5);
  CHECK(taken <= 6);
}
