// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <doctest/doctest.h>

#include <tracer/report.hpp>

#include "summed_events.hpp"

using namespace summed;
using namespace tracer;

namespace {

ProcessSample living(const Run& run, std::uint64_t time_ns, std::uint64_t held = 1000) {
  ProcessSample sample = sample_at(time_ns, run.pid, held);
  sample.process = process_of(run);
  sample.account.cpu_ns = run.cpu_ns;
  sample.account.read_bytes = 100;
  sample.account.written_bytes = 200;
  return sample;
}

ProcessExec exec_of(const Run& ended, const Run& next) {
  ProcessExec exec;
  exec.time_ns = ended.end_ns;
  exec.process = process_of(next);
  exec.ended = program_of(ended);
  return exec;
}

SessionEnd end_of(std::uint64_t started, std::uint64_t ended) {
  SessionEnd end;
  end.processes_started = started;
  end.processes_ended = ended;
  return end;
}

SummaryRow row_of(const std::vector<SummaryRow>& rows, const std::string& name) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; });
  REQUIRE(found != rows.end());
  return *found;
}

}  // namespace

TEST_CASE("what lives is in all rows that it belongs to, as its last sample saw it") {
  const Run bwa{.pid = 1, .tool = "bwa", .step = "align", .cpu_ns = 70};
  const Summary summary = summary_of(
      {living(bwa, 500),
       exit_of({.pid = 2, .tool = "sort", .step = "align", .start_ns = 5, .end_ns = 90, .cpu_ns = 30}), end_of(2, 1)});
  for (const SummaryRow& row :
       {summary.total(), summary.by_step().at(0), summary.by_task().at(0), summary.tree().at(0).row}) {
    CHECK(row.processes == 2);
    CHECK(row.living == 1);
    CHECK(row.cpu_ns == 100);
    CHECK(row.read_bytes == 110);
    CHECK(row.written_bytes == 220);
    CHECK(row.last_end_ns == 500);
    CHECK_FALSE(row.task_peak_at_most_bytes.has_value());
  }
  const SummaryRow tool = row_of(summary.by_tool(), "bwa");
  CHECK(tool.processes == 1);
  CHECK(tool.cpu_ns == 70);
  CHECK(tool.task_peak_bytes == 1000);
  CHECK(summary.largest_processes().at(0).cpu_ns == 70);
  CHECK(summary.largest_processes().at(0).living == 1);
}

TEST_CASE("what lives counts once, however many snapshots saw it, and no more when it has ended") {
  const Run bwa{.pid = 1, .tool = "bwa", .cpu_ns = 70};
  Summary summary = summary_of({living({.pid = 1, .tool = "bwa", .cpu_ns = 20}, 100), living(bwa, 500)});
  CHECK(summary.total().cpu_ns == 70);
  CHECK(summary.total().cpu_ns == 70);
  summary.add(exit_of({.pid = 1, .tool = "bwa", .start_ns = 1, .end_ns = 600, .cpu_ns = 90}));
  CHECK(summary.total().cpu_ns == 90);
  CHECK(summary.total().processes == 1);
  CHECK(summary.total().living == 0);
}

TEST_CASE("of one that has executed another program the sample is shared out among both") {
  const Run shell{.pid = 1, .tool = "bash", .start_ns = 10, .end_ns = 50, .cpu_ns = 30};
  const Run bwa{.pid = 1, .tool = "bwa", .cpu_ns = 100};
  const Summary summary = summary_of({exec_of(shell, bwa), living(bwa, 500), end_of(1, 0)});
  CHECK(row_of(summary.by_tool(), "bash").cpu_ns == 30);
  const SummaryRow tool = row_of(summary.by_tool(), "bwa");
  CHECK(tool.cpu_ns == 70);
  CHECK(tool.written_bytes == 180);
  CHECK(tool.read_bytes == 100);  // Since its last exec.
  CHECK(tool.first_start_ns == 50);
  CHECK(summary.total().cpu_ns == 100);
  CHECK(summary.total().processes == 1);
}

TEST_CASE("many that are told together count as many") {
  ToolSample folded = folded_at(100, 5000, "align");
  folded.tool = "bwa";
  folded.account.cpu_ns = 650;
  const Summary summary = summary_of({folded});
  CHECK(summary.total().processes == 65);
  CHECK(summary.total().living == 65);
  CHECK(summary.total().cpu_ns == 650);
  CHECK(row_of(summary.by_tool(), "bwa").cpu_ns == 650);
}

TEST_CASE("so far is exact at the end of a session, and a lower bound before") {
  const Run bwa{.pid = 1, .tool = "bwa", .cpu_ns = 70};
  for (const bool ended : {false, true}) {
    Summary summary = summary_of({living(bwa, 500)});
    if (ended) summary.add(end_of(1, 0));
    const Report report = make_report(summary);
    const Bound bound = ended ? Bound::kExact : Bound::kAtLeast;
    CHECK(report.total.cpu_ns == Figure{70, bound});
    CHECK(report.tools.at(0).cpu_ns == Figure{70, bound});
    CHECK(report.total.written_bytes == Figure{200, bound});
    CHECK(report.total.memory_bytes == Figure{1000, Bound::kAtLeast});
  }
}

TEST_CASE("the kernel's sums are those of what has ended: what lives comes besides") {
  const Run bwa{.pid = 1, .tool = "bwa", .cpu_ns = 70};
  SessionFigures session;
  session.totals.emplace_back();
  session.totals[0].ended = 3;
  session.totals[0].account.cpu_ns = 1000;
  session.totals[0].account.read_bytes = session.totals[0].account.written_bytes = 1;
  session.tier = Tier::kKernel;
  const Report report =
      make_report(summary_of({living(bwa, 500), Loss{1, "ring_full_exit", 3}, end_of(4, 3)}), session);
  CHECK(report.total.processes == 4);
  CHECK(report.total.cpu_ns == Figure{1070, Bound::kExact});
}

TEST_CASE("tools of which there were only copies have no row") {
  ProcessExec copied =
      exec_of({.pid = 1, .tool = "bash", .start_ns = 0, .end_ns = 50, .cpu_ns = 3}, {.pid = 1, .tool = "cat"});
  const Report report = make_report(
      whole_summary_of({copied, exit_of({.pid = 1, .tool = "cat", .start_ns = 50, .end_ns = 60, .cpu_ns = 1})}));
  REQUIRE(report.tools.size() == 1);
  CHECK(report.tools[0].name == "cat");
  CHECK(report.tools[0].processes == 1);
  CHECK(report.total.cpu_ns == Figure{4, Bound::kExact});
}

TEST_CASE("a command that was held began with its exec") {
  ProcessExec held = exec_of({.pid = 1, .tool = "tracerd", .end_ns = 700}, {.pid = 1, .tool = "cat"});
  held.ended = {};
  const Summary summary =
      summary_of({held, exit_of({.pid = 1, .tool = "cat", .start_ns = 700, .end_ns = 800, .cpu_ns = 1})});
  CHECK(summary.by_tool().size() == 1);
  CHECK(summary.total().wall_ns == 100);
  CHECK(summary.total().unknown_cpus == 0);
}

TEST_CASE("a command that was held, and lives, began with its exec") {
  ProcessExec held = exec_of({.pid = 1, .tool = "tracerd", .end_ns = 700}, {.pid = 1, .tool = "cat"});
  held.ended = {};
  const Summary summary = summary_of({held, living({.pid = 1, .tool = "cat", .cpu_ns = 1}, 900), end_of(1, 0)});
  REQUIRE(summary.survivors().size() == 1);
  CHECK(summary.survivors()[0].begin_ns == 700);
  CHECK(make_report(summary).survivors.at(0).begin_ns == 700);
  CHECK(summary.total().wall_ns == 200);
}

TEST_CASE("of what lives, reads of which only a bound is known have one in the row, however small it is") {
  ProcessSample sample = living({.pid = 1, .tool = "sleep", .cpu_ns = 1}, 900);
  sample.account.read_bytes.reset();
  sample.account.read_at_most_bytes = 4000;
  const Report report = make_report(summary_of({sample, end_of(1, 0)}));
  CHECK(report.tools.at(0).read_bytes == Figure{4000, Bound::kAtMost});
  CHECK(report.total.read_bytes == Figure{4000, Bound::kAtMost});
  CHECK(to_json(report).find("\"read_bytes\":0") == std::string::npos);
}
