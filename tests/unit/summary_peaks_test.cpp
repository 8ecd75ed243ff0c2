// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <doctest/doctest.h>

#include "summed_events.hpp"

using namespace summed;
using namespace tracer;
using namespace tracer::internal;

TEST_CASE("a task's peak is the most that its processes held at one snapshot") {
  const Summary summary =
      summary_of({sample_at(100, 1, 100, "align"), sample_at(100, 2, 200, "sort"), sample_at(200, 1, 250, "align"),
                  sample_at(200, 3, 20, "align"), sample_at(300, 1, 10, "align"),
                  exit_of({.pid = 1, .step = "align", .start_ns = 1, .end_ns = 400}),
                  exit_of({.pid = 2, .step = "sort", .start_ns = 2, .end_ns = 150}),
                  exit_of({.pid = 9, .step = "index", .start_ns = 3, .end_ns = 9})});
  CHECK(summary.total().task_peak_bytes == 300);
  const auto steps = summary.by_step();
  REQUIRE(steps.size() == 3);
  CHECK(steps[0].task_peak_bytes == 270);
  CHECK(steps[1].task_peak_bytes == 200);
  CHECK_FALSE(steps[2].task_peak_bytes.has_value());
  CHECK(summary.by_tool().at(0).task_peak_bytes == 300);
}

TEST_CASE("the last snapshot counts for the peak though none follows") {
  CHECK(summary_of({sample_at(100, 1, 10), sample_at(200, 1, 30)}).total().task_peak_bytes == 30);
}

TEST_CASE("a task's peak is at least its largest process's, with and without a snapshot") {
  const Event exit = exit_of({.pid = 1, .step = "align", .start_ns = 1, .end_ns = 400, .peak = 5000});
  const Event other = exit_of({.pid = 2, .step = "align", .start_ns = 1, .end_ns = 400, .peak = 10});
  CHECK(summary_of({sample_at(100, 1, 100, "align"), exit, other}).total().task_peak_bytes == 5000);
  CHECK(summary_of({sample_at(100, 1, 100, "align"), exit, other}).by_step().at(0).task_peak_bytes == 5000);
  CHECK(summary_of({exit, other}).total().task_peak_bytes == 5000);
  CHECK(summary_of({exit, other}).total().task_peak_is_floor);
  CHECK_FALSE(summary_of({sample_at(100, 1, {})}).total().task_peak_bytes.has_value());
}

TEST_CASE("one process alone has the peak of its task") {
  const Event exit = exit_of({.pid = 1, .step = "align", .start_ns = 1, .end_ns = 400, .peak = 5000});
  SessionEnd end;
  end.processes_started = end.processes_ended = 1;
  for (const SummaryRow& row : {summary_of({exit, end}).total(), summary_of({exit, end}).by_step().at(0),
                                summary_of({sample_at(100, 1, {}, "align"), exit, end}).total()}) {
    CHECK(row.task_peak_bytes == 5000);
    CHECK(row.task_peak_at_most_bytes == 5000);
    CHECK_FALSE(row.task_peak_is_floor);
  }
  // Something else may have lived.
  for (const Summary& summary : {summary_of({exit, Loss{1, "a", 1}, end}), summary_of({exit})}) {
    CHECK(summary.total().task_peak_bytes == 5000);
    CHECK_FALSE(summary.total().task_peak_at_most_bytes.has_value());
    CHECK(summary.total().task_peak_is_floor);
  }
  end.processes_started = 2;
  CHECK(summary_of({exit, sample_at(500, 2, 10), end}).total().task_peak_is_floor);
}

TEST_CASE("between what snapshots saw and the sum of those that lived at once, a peak is a floor") {
  SessionEnd end;
  end.processes_started = end.processes_ended = 2;
  const Event first = exit_of({.pid = 1, .step = "align", .start_ns = 1, .end_ns = 400, .peak = 5000});
  const Event second = exit_of({.pid = 2, .step = "align", .start_ns = 300, .end_ns = 500, .peak = 3000});
  const Event after = exit_of({.pid = 2, .step = "align", .start_ns = 401, .end_ns = 500, .peak = 3000});
  const Summary at_once = summary_of({sample_at(100, 1, 4999, "align"), first, second, end});
  for (const SummaryRow& row : {at_once.total(), at_once.by_step().at(0), at_once.by_task().at(0)}) {
    CHECK(row.task_peak_bytes == 5000);
    CHECK(row.task_peak_at_most_bytes == 8000);
    CHECK(row.task_peak_is_floor);
  }
  const Summary one_by_one = summary_of({sample_at(100, 1, 4999, "align"), first, after, end});
  CHECK(one_by_one.total().task_peak_bytes == 5000);
  CHECK_FALSE(one_by_one.total().task_peak_is_floor);
  CHECK_FALSE(summary_of({sample_at(350, 1, 4990, "align"), sample_at(350, 2, 2980, "align"), first, second, end})
                  .total()
                  .task_peak_is_floor);
}

TEST_CASE("a snapshot in which the memory of one process is unknown does not count") {
  const Event align = exit_of({.pid = 1, .step = "align", .start_ns = 1, .end_ns = 400});
  const Event sort = exit_of({.pid = 2, .step = "sort", .start_ns = 2, .end_ns = 400});
  const Summary summary = summary_of({sample_at(100, 1, 900, "align"), sample_at(100, 2, {}, "sort"),
                                      sample_at(200, 1, 50, "align"), sample_at(200, 2, 20, "sort"),
                                      sample_at(300, 2, {}, "sort"), sample_at(300, 1, 800, "align"), align, sort});
  CHECK(summary.total().task_peak_bytes == 70);
  CHECK(summary.by_step().at(0).task_peak_bytes == 900);
  CHECK(summary.by_step().at(1).task_peak_bytes == 20);
  CHECK_FALSE(summary_of({sample_at(100, 1, {})}).total().task_peak_bytes.has_value());
}

TEST_CASE("tasks of one step that run at once are peaks of their own, of which its row has the largest") {
  const Event exit = exit_of({.pid = 1, .step = "align", .start_ns = 1, .end_ns = 400});
  const Summary summary =
      summary_of({sample_at(100, 1, 100, "align", "tumor"), sample_at(100, 2, 70, "align", "normal"),
                  sample_at(100, 3, 20, "align", "normal"), sample_at(200, 1, 10, "align", "tumor"),
                  sample_at(200, 2, 110, "align", "normal"), sample_at(300, 1, 105, "align", "tumor"), exit});
  CHECK(summary.by_step().at(0).task_peak_bytes == 110);
  CHECK(summary.total().task_peak_bytes == 190);
}

TEST_CASE("tasks differ by any label") {
  const auto held = [](std::uint32_t pid, Context context) {
    ProcessSample sample = sample_at(100, pid, 100);
    sample.process = build::process({.pid = pid, .context = std::move(context)});
    return sample;
  };
  Context wgs;
  wgs.pipeline = "wgs";
  wgs.run = "1";
  wgs.step = "align";
  wgs.sample = "tumor";
  Context rna = wgs;
  rna.pipeline = "rna";
  Context again = wgs;
  again.run = "2";
  const Event exit = exit_of({.pid = 1, .step = "align", .start_ns = 1, .end_ns = 400});
  const auto peak_of = [&](const Context& other) {
    return summary_of({held(1, wgs), held(2, other), exit}).by_step().at(0).task_peak_bytes;
  };
  CHECK(peak_of(wgs) == 200);
  CHECK(peak_of(rna) == 100);
  CHECK(peak_of(again) == 100);
}

TEST_CASE("snapshots at which a peak was not known are counted, the last too") {
  const Event align = exit_of({.pid = 1, .step = "align", .start_ns = 1, .end_ns = 400});
  const Event sort = exit_of({.pid = 2, .step = "sort", .start_ns = 2, .end_ns = 400});
  Summary summary = summary_of({sample_at(100, 1, 900, "align"), sample_at(100, 2, {}, "sort"),
                                sample_at(200, 1, 50, "align"), sample_at(200, 2, 20, "sort"), sample_at(300, 2, {}),
                                sample_at(300, 3, {}), sample_at(400, 1, {}, "align"), align, sort});
  CHECK(summary.total().unknown_snapshots == 3);
  CHECK(summary.total().task_peak_bytes == 70);
  const auto steps = summary.by_step();
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].unknown_snapshots == 1);
  CHECK(steps[0].task_peak_bytes == 900);
  CHECK(steps[1].unknown_snapshots == 1);
  summary.add(sample_at(500, 2, 1, "sort"));
  CHECK(summary.total().unknown_snapshots == 3);
  CHECK(summary.by_step().at(0).unknown_snapshots == 1);
  CHECK(summary_of({folded_at(100, {}, "sort"), sort}).by_step().at(0).unknown_snapshots == 1);
  CHECK(summary_of({sort}).by_step().at(0).unknown_snapshots == 0);
}

TEST_CASE("what many processes hold that are told together counts for the peak") {
  const Event exit = exit_of({.pid = 1, .step = "align", .start_ns = 1, .end_ns = 400});
  const Summary summary = summary_of({sample_at(100, 1, 100, "align"), folded_at(100, 1000, "align"),
                                      folded_at(100, 7000), folded_at(200, {}, "align"), exit});
  CHECK(summary.total().task_peak_bytes == 8100);
  CHECK(summary.by_step().at(0).task_peak_bytes == 1100);
  CHECK_FALSE(summary_of({folded_at(100, {}), sample_at(100, 1, 5)}).total().task_peak_bytes.has_value());
}

TEST_CASE("after a snapshot without processes none is still running") {
  Summary summary = summary_of({sample_at(100, 1, 10)});
  CHECK(summary.survivors().size() == 1);
  summary.add(SnapshotEnd{100, 1});
  CHECK(summary.survivors().size() == 1);
  summary.add(SnapshotEnd{200, 0});
  CHECK(summary.survivors().empty());
}
