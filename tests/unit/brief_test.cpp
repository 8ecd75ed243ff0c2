// SPDX-License-Identifier: Apache-2.0
#include "report/brief.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "report/report_sums.hpp"
#include "report/task_names.hpp"
#include "show/report_table.hpp"
#include "show/screen.hpp"
#include "show/short_names.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr std::size_t kMost = 15;

ReportNode node(SummaryLevel level, std::string name, std::uint64_t cpu_ns, std::uint64_t wall_ns = 100,
                std::uint64_t start_ns = 1) {
  ReportNode made;
  made.level = level;
  made.row.name = std::move(name);
  made.row.cpu_ns = Figure{cpu_ns};
  made.row.wall_ns = wall_ns;
  made.row.first_start_ns = start_ns;
  made.row.last_end_ns = start_ns + wall_ns;
  made.row.processes = 1;
  return made;
}

ReportNode task(std::string name, std::uint64_t cpu_ns, std::uint64_t wall_ns, std::string tool = "sort") {
  ReportNode made = node(SummaryLevel::kTask, name, cpu_ns, wall_ns);
  made.row.task.task = std::move(name);
  made.below.push_back(node(SummaryLevel::kTool, std::move(tool), cpu_ns, wall_ns));
  return made;
}

/// A run with these below it.
ReportNode run_of(std::string name, std::vector<ReportNode> below) {
  std::uint64_t cpu_ns = 0;
  for (const ReportNode& each : below) cpu_ns += each.row.cpu_ns->value;
  ReportNode run = node(SummaryLevel::kRun, std::move(name), cpu_ns);
  run.row.task.engine = "make";
  run.below = std::move(below);
  return run;
}

ReportNode step_of(const std::string& name, std::vector<ReportNode> tasks, std::uint64_t start_ns = 1) {
  std::uint64_t cpu_ns = 0;
  for (ReportNode& each : tasks) each.row.task.step = name, cpu_ns += each.row.cpu_ns->value;
  ReportNode step = node(SummaryLevel::kStep, name, cpu_ns, 100, start_ns);
  step.below = std::move(tasks);
  return step;
}

Report report_of(std::vector<ReportNode> tree) {
  Report report;
  std::uint64_t cpu_ns = 0;
  for (const ReportNode& each : tree) cpu_ns += each.row.cpu_ns->value;
  report.total.cpu_ns = Figure{cpu_ns};
  report.tree = std::move(tree);
  name_tasks(report.tree);
  count_tasks(report.tree);
  return report;
}

std::vector<std::string> names_of(const std::vector<BriefRow>& rows) {
  std::vector<std::string> names;
  for (const BriefRow& row : rows)
    names.push_back(std::string(2 * row.depth, ' ') +
                    (row.left_out != 0 ? "+" + std::to_string(row.left_out) : row.row.name));
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("of many tasks a run shows how many, their median and largest wall, and those worth naming") {
  std::vector<ReportNode> tasks;
  for (std::uint64_t i = 0; i < 1000; ++i) tasks.push_back(task("t" + std::to_string(i), 10, 100 + i % 5));
  tasks[500].row.wall_ns = 900;
  for (ReportNode& each : tasks) each.row.memory_bytes = Figure{1000};
  tasks[7].row.memory_bytes = Figure{5000};
  tasks[9].row.failed = {1};
  const auto rows = brief_rows(report_of({run_of("make", std::move(tasks))}), kMost);
  CHECK(names_of(rows) == Names{"make", "  sort", "  t9", "  t500", "  t7"});
  REQUIRE(rows[0].row.tasks.has_value());
  CHECK(rows[0].row.tasks->value == 1000);
  CHECK(rows[0].row.tasks->bound == Bound::kExact);
  CHECK(rows[0].median_wall_ns->value == 102);
  CHECK(rows[0].largest_wall_ns->value == 900);
  CHECK(rows[1].row.cpu_ns->value == 10000);
  CHECK(rows[1].row.processes == 1000);
  CHECK(rows[2].worth == Worth::kFailed);
  CHECK(rows[3].worth == Worth::kSlowest);
  CHECK(rows[4].worth == Worth::kHungriest);
}

TEST_CASE("no task has the most memory where others may have held as much") {
  std::vector<ReportNode> tasks;
  for (int i = 0; i < 6; ++i) tasks.push_back(task("t" + std::to_string(i), 10, 100));
  for (ReportNode& each : tasks)
    each.row.memory_bytes = Figure{3000, Bound::kAtLeast}, each.row.memory_at_most_bytes = 6000;
  tasks[1].row.memory_bytes = Figure{6500};
  CHECK(names_of(brief_rows(report_of({run_of("make", tasks)}), kMost)) == Names{"make", "  sort"});
  tasks[1].row.memory_bytes = Figure{9000};
  CHECK(names_of(brief_rows(report_of({run_of("make", tasks)}), kMost)) == Names{"make", "  sort", "  t1"});
}

TEST_CASE("the median of an even number of tasks is between the two in the middle") {
  const auto rows = brief_rows(
      report_of({run_of("make", {task("a", 10, 10), task("b", 10, 20), task("c", 10, 40), task("d", 10, 90)})}), kMost);
  CHECK(rows[0].median_wall_ns->value == 30);
}

TEST_CASE("a task that lives is in no median, and bounds the largest") {
  ReportNode lives = task("b", 10, 500);
  lives.row.living = 1;
  const auto rows = brief_rows(report_of({run_of("make", {task("a", 10, 10), std::move(lives)})}), kMost);
  CHECK(rows[0].median_wall_ns->value == 10);
  CHECK(rows[0].largest_wall_ns->value == 500);
  CHECK(rows[0].largest_wall_ns->bound == Bound::kAtLeast);
}

TEST_CASE("where tasks were put together, their number is a lower bound, and there is no median") {
  const auto rows = brief_rows(report_of({run_of("make", {task("a", 10, 10), task("(other tasks)", 10, 50)})}), kMost);
  CHECK(rows[0].row.tasks->bound == Bound::kAtLeast);
  CHECK_FALSE(rows[0].median_wall_ns.has_value());
  CHECK_FALSE(rows[0].largest_wall_ns.has_value());
}

TEST_CASE("no row is called by an engine's id") {
  ReportNode run = run_of("x.nf 20574-30e6d50fa01", {task("", 10, 10, "bwa mem"), task("", 10, 90, "samtools sort")});
  for (ReportNode& each : run.below) {
    each.row.name = "ab/0123456789abcdef0123456789abcd";
    each.row.task.task.reset();
    each.row.task.task_id = each.row.name;
  }
  const auto rows = brief_rows(report_of({run}), kMost);
  CHECK(rows[0].row.name == "x.nf");
  for (const BriefRow& row : rows) CHECK(row.row.name.find("0123") == std::string::npos);
  ReportNode only_id = run_of("20574-30e6d50fa01", {task("a", 10, 10)});
  CHECK(brief_rows(report_of({only_id}), kMost)[0].row.name == "make");
}

TEST_CASE("steps are in the order of their starts; those that cost least are one row") {
  std::vector<ReportNode> steps;
  for (std::uint64_t i = 0; i < 40; ++i)
    steps.push_back(step_of("step" + std::to_string(i), {task("t", 100 + i, 100)}, 1000 - i));
  const auto rows = brief_rows(report_of({run_of("x.nf", std::move(steps))}), kMost);
  CHECK(rows.size() <= kMost);
  CHECK(rows[1].row.name == "step39");
  CHECK(rows[2].row.name == "step38");
  const auto left = std::find_if(rows.begin(), rows.end(), [](const BriefRow& row) { return row.left_out != 0; });
  REQUIRE(left != rows.end());
  CHECK(left->left_out == 31);
  CHECK(left->row.tasks->value == 31);
  CHECK(left->row.cpu_ns->value == 31 * 100 + 30 * 31 / 2);
}

TEST_CASE("a tool that is all of its step has no row of its own, nor has what cost nothing") {
  ReportNode align = step_of("ALIGN", {task("a", 1000, 10, "bwa mem")});
  ReportNode sort = step_of("SORT", {task("a", 1000, 10, "samtools sort")});
  sort.below[0].below.push_back(node(SummaryLevel::kTool, "gzip", 500));
  sort.below[0].below.push_back(node(SummaryLevel::kTool, "bash", 1));
  sort.row.cpu_ns = Figure{1501};
  ReportNode idle = step_of("IDLE", {task("a", 0, 10, "true")}, 5);
  const auto rows = brief_rows(report_of({run_of("x.nf", {align, sort, idle})}), kMost);
  CHECK(names_of(rows) == Names{"x.nf", "  ALIGN", "  SORT", "    samtools sort", "    gzip", "  +1"});
}

TEST_CASE("a step that failed has a row, however little it cost") {
  std::vector<ReportNode> steps;
  for (std::uint64_t i = 0; i < 12; ++i)
    steps.push_back(step_of("step" + std::to_string(i), {task("t", 1000 * i, 100)}, 1 + i));
  steps[0].row.failed = {1};
  const auto rows = brief_rows(report_of({run_of("x.nf", std::move(steps))}), kMost);
  CHECK(std::any_of(rows.begin(), rows.end(), [](const BriefRow& row) { return row.row.name == "step0"; }));
}

TEST_CASE("a run that is called by a date keeps its name") {
  CHECK(brief_rows(report_of({run_of("x.nf 2024-11-26", {task("a", 10, 10)})}), kMost)[0].row.name ==
        "x.nf 2024-11-26");
}

TEST_CASE("few tasks are all shown, the slowest first") {
  const auto rows =
      brief_rows(report_of({run_of("make", {task("a", 9, 10), task("b", 9, 11), task("c", 9, 12)})}), kMost);
  CHECK(names_of(rows) == Names{"make", "  sort", "  c", "  b", "  a"});
}

TEST_CASE("an engine's own work is one row, wherever it was done") {
  ReportNode run = run_of("make", {task("a", 1000, 10), task("b", 1000, 10)});
  for (ReportNode& each : run.below) each.below.push_back(node(SummaryLevel::kEngine, "(make itself)", 100));
  run.below.push_back(node(SummaryLevel::kEngine, "(make itself)", 300));
  const auto rows = brief_rows(report_of({run}), kMost);
  CHECK(names_of(rows) == Names{"make", "  sort", "  a", "  b", "  (make itself)"});
  CHECK(rows.back().row.cpu_ns->value == 500);
}

TEST_CASE("however many runs there are, there are few rows") {
  std::vector<ReportNode> runs;
  for (int i = 0; i < 300; ++i)
    runs.push_back(run_of("run" + std::to_string(i), {task("a", 10, 10), task("b", 10, 50)}));
  const auto rows = brief_rows(report_of(std::move(runs)), kMost);
  CHECK(rows.size() <= kMost);
  CHECK(std::any_of(rows.begin(), rows.end(), [](const BriefRow& row) { return row.left_out == 295; }));
}

TEST_CASE("tasks that are called by commands without room for them are called by the words that tell them apart") {
  const auto compiled = [](std::uint64_t number) {
    const std::string file = "o/" + std::to_string(number) + ".o";
    ReportNode made = task("gcc -O2 -Wall -Wextra -Iinclude -c x.c -o " + file, 1000, 100 + number, "gcc");
    made.row.task.engine = "make";
    made.row.task.provenance.task = Provenance::kInferred;
    made.row.task.task_key = Key{number};
    return made;
  };
  ReportNode run = run_of("make", {compiled(1), compiled(2), compiled(3)});
  CHECK(run.below[0].row.task.task->size() > 40);
  const Report report = report_of({run});
  const Utf8Scope utf8(true);
  const std::string wide = format_tables(report, std::nullopt, std::nullopt);
  CHECK(wide.find("\n  task make: gcc … o/2.o ") != std::string::npos);
  CHECK(wide.find("\n  gcc ") != std::string::npos);
  const ShortNames names(report.tree);
  const ReportRow& second = report.tree[0].below[1].row;
  CHECK(names.fitting(second, second.name.size()) == second.name);
  CHECK(names.fitting(second, 17) == "make: gcc … o/2.o");
  CHECK(names.fitting(second, 16) == "make: o/2.o");
  CHECK(names.fitting(second, 5) == "make: o/2.o");
  CHECK(format_tables(report, By::kTask, std::nullopt).find("\nmake: gcc … o/3.o ") != std::string::npos);
}

TEST_CASE("the table of 20,000 tasks in 30 steps has at most 25 lines, and no ids") {
  std::vector<ReportNode> steps;
  for (std::uint64_t step = 0; step < 30; ++step) {
    std::vector<ReportNode> tasks;
    for (std::uint64_t i = 0; i < 20'000 / 30; ++i) {
      tasks.push_back(task("", 100 + i + step, 100 + i * step, i % 2 == 0 ? "bwa mem" : "samtools sort"));
      tasks.back().row.name = "ab/0123456789abcdef0123456789" + std::to_string(1000 + i);
      tasks.back().row.task.task.reset();
      tasks.back().row.task.task_id = tasks.back().row.name;
      if (i % 100 == 0) tasks.back().row.failed = {1};
    }
    steps.push_back(step_of("STEP" + std::to_string(step), std::move(tasks), 1000 - step));
  }
  Report report = report_of({run_of("x.nf 3f1c-0a9b8c7d6e", std::move(steps))});
  for (const std::optional<std::size_t> columns : {std::optional<std::size_t>(80), std::optional<std::size_t>()}) {
    const std::string text = format_tables(report, std::nullopt, columns);
    CHECK(std::count(text.begin(), text.end(), '\n') <= 25);
    CHECK(text.find("0123456789") == std::string::npos);
    CHECK(text.find("0a9b8c7d6e") == std::string::npos);
    CHECK(text.find("STEP29") != std::string::npos);
  }
}
