// SPDX-License-Identifier: Apache-2.0
/// What a task is said to spend its time on, where bounds of its computing are apart.
#include "report/time_shares.hpp"

#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include "report/bound_by.hpp"
#include "report/parallelism.hpp"
#include "show/screen.hpp"
#include "show/time_bar.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

ReportRow row_of(const TaskLedger& ledger) {
  ReportRow row;
  row.task_ledger = ledger;
  row.time = time_shares(ledger);
  set_bound(row);
  return row;
}

double share_of(const ReportRow& row, TimeCause cause) {
  for (const TimeShare& each : row.time)
    if (each.cause == cause) return each.share;
  return 0;
}

}  // namespace

TEST_CASE("bounds that are close are one figure") {
  const ReportRow row = row_of({.computing_ns = 600'000'000,
                                .disk_ns = 400'000'000,
                                .wall_ns = 1'000'000'000,
                                .computing_at_most_ns = 640'000'000});
  CHECK(row.bound_by == "compute");
  CHECK(share_of(row, TimeCause::kUnclear) == 0);
  CHECK(share_of(row, TimeCause::kDisk) == doctest::Approx(0.4));
}

TEST_CASE("how many CPUs were used at once is known where it is known for how long") {
  TaskLedger ledger{.computing_ns = 600, .disk_ns = 400, .wall_ns = 1000, .computing_at_most_ns = 640};
  CHECK(parallelism_of(1800, ledger).value() == doctest::Approx(3.0));
  ledger.computing_at_most_ns = 660;
  CHECK_FALSE(parallelism_of(1800, ledger).has_value());
  CHECK_FALSE(parallelism_of(1800, TaskLedger{.sleep_ns = 1000, .wall_ns = 1000}).has_value());
  CHECK_FALSE(parallelism_of(1800, std::nullopt).has_value());
  ReportRow row;
  row.task_ledger = TaskLedger{.computing_ns = 600, .wall_ns = 600, .computing_at_most_ns = 600};
  row.cpu_ns = Figure{1200, Bound::kAtLeast};
  CHECK_FALSE(parallelism_of(row).has_value());
}

TEST_CASE("what may have been computing is not taken for a wait, and bounds nothing") {
  const Utf8Scope plain(false);
  // Two that take turns: it may have computed all the time.
  const ReportRow row = row_of({.computing_ns = 300'000'000,
                                .sleep_ns = 700'000'000,
                                .wall_ns = 1'000'000'000,
                                .computing_at_most_ns = 600'000'000});
  CHECK(row.bound_by == "mixed");
  CHECK(!row.bound_share);
  CHECK(share_of(row, TimeCause::kCpu) == doctest::Approx(0.3));
  CHECK(share_of(row, TimeCause::kUnclear) == doctest::Approx(0.3));
  CHECK(share_of(row, TimeCause::kSleep) == doctest::Approx(0.4));
  CHECK(main_causes(row.time, 3) == "sleep 40 %, CPU >=30 %, CPU or wait 30 %");
  CHECK(time_bar(row.time) == "##???...");
}

TEST_CASE("what bounds a task by both bounds, bounds it") {
  const ReportRow computes = row_of({.computing_ns = 500'000'000,
                                     .queued_ns = 500'000'000,
                                     .wall_ns = 1'000'000'000,
                                     .computing_at_most_ns = 1'000'000'000});
  CHECK(computes.bound_by == "compute");
  CHECK(computes.bound_share == doctest::Approx(0.5));
  const ReportRow waits = row_of({.computing_ns = 100'000'000,
                                  .disk_ns = 850'000'000,
                                  .sleep_ns = 50'000'000,
                                  .wall_ns = 1'000'000'000,
                                  .computing_at_most_ns = 400'000'000});
  CHECK(waits.bound_by == "disk");
  CHECK(waits.bound_share == doctest::Approx(0.55));
}
