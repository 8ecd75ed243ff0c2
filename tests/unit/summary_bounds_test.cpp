// SPDX-License-Identifier: Apache-2.0
/// Anybody can make up runs, steps, tasks and tools: rows are bounded, and sums stay whole.
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "summed_events.hpp"

using namespace summed;
using namespace tracer;

namespace {

constexpr std::size_t kMany = 25'000;

/// It consumes 10 ns of CPU, reads 10 bytes, and fails.
Event exit_in(Context context, std::string tool = "tool") {
  ProcessExit exit;
  exit.process = build::process({.tool = std::move(tool), .context = std::move(context)});
  exit.exit_code = 1;
  exit.program = program_of({.start_ns = 1, .end_ns = 2, .cpu_ns = 10, .peak = 7});
  exit.program.program = exit.process->program;
  exit.program.account.process_ledger.emplace().running_ns = 10;
  return exit;
}

struct Sums {
  std::size_t rows = 0;
  std::uint64_t processes = 0;
  std::uint64_t failed = 0;
  std::uint64_t cpu_ns = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t running_ns = 0;

  void add(const SummaryRow& row) {
    ++rows;
    processes += row.processes;
    failed += row.failed;
    cpu_ns += row.cpu_ns;
    read_bytes += row.read_bytes;
    if (row.process_ledger) running_ns += row.process_ledger->running_ns;
  }
};

Sums sums_of(const std::vector<SummaryRow>& rows) {
  Sums sums;
  for (const SummaryRow& row : rows) sums.add(row);
  return sums;
}

void add_leaves(const std::vector<SummaryNode>& nodes, Sums& sums) {
  for (const SummaryNode& node : nodes) {
    if (node.level >= SummaryLevel::kTool) sums.add(node.row);
    add_leaves(node.below, sums);
  }
}

/// Of all tools in the tree.
Sums leaves_of(const std::vector<SummaryNode>& nodes) {
  Sums sums;
  add_leaves(nodes, sums);
  return sums;
}

void check_whole(const Sums& sums, std::uint64_t processes) {
  CHECK(sums.processes == processes);
  CHECK(sums.failed == processes);
  CHECK(sums.cpu_ns == 10 * processes);
  CHECK(sums.read_bytes == 10 * processes);
  CHECK(sums.running_ns == 10 * processes);
}

const SummaryNode* node_called(const std::vector<SummaryNode>& nodes, const std::string& name) {
  for (const SummaryNode& node : nodes)
    if (node.row.name == name) return &node;
  return nullptr;
}

Context run_of(std::size_t i) {
  const std::string number = std::to_string(i);
  return {.pipeline = "m.nf", .run = "n" + number, .engine = "nextflow", .run_id = number + "-1"};
}

Event sample_in(Context context, std::uint64_t time_ns, std::uint64_t held) {
  ProcessSample sample = sample_at(time_ns, 1, held);
  sample.process = build::process({.pid = 1, .start_ns = 0, .context = std::move(context)});
  return sample;
}

}  // namespace

TEST_CASE("runs of more names than are told apart are one, and nothing is missing in their sums") {
  Summary summary;
  for (std::size_t i = 0; i < kMany; ++i) summary.add(exit_in(run_of(i)));
  // A step is told apart in the others, too; its tasks are one.
  for (std::size_t i = 0; i < 10; ++i) {
    Context task = run_of(kMany + i);
    task.step = "ALIGN";
    task.task_id = "1";
    summary.add(exit_in(task));
    summary.add(sample_in(task, 100, 5));
  }
  summary.add(exit_in(run_of(0)));
  const auto tree = summary.tree();
  REQUIRE(tree.size() == Summary::kMostRuns + 1);
  check_whole(leaves_of(tree), kMany + 11);
  const SummaryNode* others = node_called(tree, "(others)");
  REQUIRE(others != nullptr);
  CHECK(others->row.processes == kMany + 10 - Summary::kMostRuns);
  CHECK(others->row.task_peak_bytes == 50);
  const SummaryNode* step = node_called(others->below, "ALIGN");
  REQUIRE(step != nullptr);
  REQUIRE(step->below.size() == 1);
  CHECK(step->below[0].row.name == "(other tasks)");
  CHECK(step->below[0].row.processes == 10);
  REQUIRE(summary.by_step().size() == 1);
  CHECK(summary.by_step()[0].processes == 10);
  const Sums rows = sums_of(summary.by_task());
  CHECK(rows.rows <= Summary::kMostRuns + 2);
  check_whole(rows, kMany + 11);
  CHECK(node_called(tree, "m.nf n0")->row.processes == 2);
}

TEST_CASE("runs that have finished become one row, oldest first, and nothing is missing in their sums") {
  constexpr std::size_t kRuns = 100'000;
  Summary summary;
  const Context stays = run_of(kRuns);
  summary.add(exit_in(stays));
  for (std::size_t i = 0; i < kRuns; ++i) {
    Context task = run_of(i);
    task.step = i % 2 == 0 ? "ALIGN" : "SORT";
    task.sample = "S" + std::to_string(i % 3);
    task.task_id = "1";
    summary.add(exit_in(task));
    RunFinish finish;
    finish.context = std::make_shared<const Context>(run_of(i));
    summary.add(finish);
  }
  const auto tree = summary.tree();
  CHECK(tree.size() <= Summary::kMostRuns);
  check_whole(leaves_of(tree), kRuns + 1);
  CHECK(node_called(tree, "(others)") == nullptr);
  CHECK(node_called(tree, "m.nf n" + std::to_string(kRuns)) != nullptr);
  CHECK(node_called(tree, "m.nf n" + std::to_string(kRuns - 1)) != nullptr);
  CHECK(node_called(tree, "m.nf n0") == nullptr);
  const std::size_t folded = kRuns - (tree.size() - 2);
  const SummaryNode* earlier = node_called(tree, std::to_string(folded) + " earlier runs");
  REQUIRE(earlier != nullptr);
  CHECK(earlier->row.processes == folded);
  check_whole(sums_of(summary.by_step()), kRuns);
  check_whole(sums_of(summary.by_sample()), kRuns);
  const Sums tasks = sums_of(summary.by_task());
  check_whole(tasks, kRuns + 1);
  CHECK(tasks.rows <= Summary::kMostTasks);
}

TEST_CASE("tasks of runs that have finished make room for those of others") {
  Summary summary;
  for (std::size_t i = 0; i < 2 * Summary::kMostTasks; ++i) {
    Context task = run_of(i / 1000);
    task.step = "ALIGN";
    task.task_id = std::to_string(i);
    summary.add(exit_in(task));
    if (i % 1000 != 999) continue;
    RunFinish finish;
    finish.context = std::make_shared<const Context>(run_of(i / 1000));
    summary.add(finish);
  }
  const auto tree = summary.tree();
  check_whole(leaves_of(tree), 2 * Summary::kMostTasks);
  check_whole(sums_of(summary.by_task()), 2 * Summary::kMostTasks);
  const SummaryNode* last = node_called(tree, "m.nf n" + std::to_string(2 * Summary::kMostTasks / 1000 - 1));
  REQUIRE(last != nullptr);
  CHECK(last->below.at(0).below.size() == 1000);
  CHECK(tree.size() > 5);
}

TEST_CASE("a run with nearly as many tasks as can be told apart is not folded when it finishes") {
  Summary summary;
  for (std::size_t i = 0; i < Summary::kMostTasks - 10; ++i) {
    Context task = run_of(1);
    task.task_id = std::to_string(i);
    summary.add(exit_in(task));
  }
  RunFinish finish;
  finish.context = std::make_shared<const Context>(run_of(1));
  summary.add(finish);
  summary.add(exit_in(run_of(1)));
  const auto tree = summary.tree();
  REQUIRE(tree.size() == 1);
  CHECK(tree[0].row.name == "m.nf n1");
  CHECK(tree[0].below.size() == Summary::kMostTasks - 10 + 1);
}

TEST_CASE("a run that changes its name again and again is one, and its names take a bounded number of rows") {
  Summary summary;
  Context run = run_of(1);
  for (std::size_t i = 0; i < kMany; ++i) {
    run.run = std::to_string(i);
    summary.add(exit_in(run));
  }
  const auto tree = summary.tree();
  REQUIRE(tree.size() == 1);
  CHECK(tree[0].row.processes == kMany);
  const Sums rows = sums_of(summary.by_task());
  CHECK(rows.rows <= Summary::kMostTasks + 1);
  check_whole(rows, kMany);
}

TEST_CASE("steps of more names than are told apart are one, and nothing is missing in their sums") {
  Summary summary;
  for (std::size_t i = 0; i < kMany; ++i) {
    Context context = i % 2 == 0 ? Context{} : run_of(i % 20);
    context.step = "s" + std::to_string(i);
    if (i % 3 == 0) context.task_id = "t";
    summary.add(exit_in(context));
  }
  const Sums steps = sums_of(summary.by_step());
  CHECK(steps.rows == Summary::kMostSteps + 1);
  check_whole(steps, kMany);
  const auto tree = summary.tree();
  check_whole(leaves_of(tree), kMany);
  check_whole(sums_of(summary.by_task()), kMany);
  const SummaryNode* run = node_called(tree, "m.nf n1");
  REQUIRE(run != nullptr);
  CHECK(node_called(run->below, "(others)") != nullptr);
}

TEST_CASE("tasks of more names than are told apart are one of their step, and nothing is missing in their sums") {
  Summary summary;
  for (std::size_t i = 0; i < kMany; ++i) {
    Context task = run_of(1);
    task.step = "ALIGN";
    task.task_id = std::to_string(i);
    summary.add(exit_in(task, "a"));
    summary.add(exit_in(std::move(task), "b"));
  }
  const auto tree = summary.tree();
  REQUIRE(tree.size() == 1);
  REQUIRE(tree[0].below.size() == 1);
  CHECK(tree[0].below[0].below.size() == Summary::kMostTasks + 1);
  const SummaryNode* others = node_called(tree[0].below[0].below, "(other tasks)");
  REQUIRE(others != nullptr);
  CHECK(others->row.processes == 2 * (kMany - Summary::kMostTasks));
  check_whole(leaves_of(tree), 2 * kMany);
  const Sums rows = sums_of(summary.by_task());
  CHECK(rows.rows == Summary::kMostTasks + 1);
  check_whole(rows, 2 * kMany);
}

TEST_CASE("tools in many tasks take a bounded number of rows in all, and nothing is missing in their sums") {
  Summary summary;
  constexpr std::size_t kTasks = 40;
  constexpr std::size_t kTools = 2000;
  for (std::size_t i = 0; i < kTasks; ++i) {
    const auto task = build::process({.context = {.run = "r", .step = "s", .task_id = std::to_string(i)}})->context;
    for (std::size_t tool = 0; tool < kTools; ++tool) summary.add(exit_in(*task, std::to_string(tool)));
  }
  const auto tree = summary.tree();
  const Sums leaves = leaves_of(tree);
  CHECK(leaves.rows > Summary::kMostToolRows);
  CHECK(leaves.rows <= Summary::kMostToolRows + kTasks);
  check_whole(leaves, kTasks * kTools);
  CHECK(summary.by_tool().size() == kTools);
}

TEST_CASE("labels without a run take a bounded number of rows, and nothing is missing in their sums") {
  Summary summary;
  for (std::size_t i = 0; i < kMany; ++i) summary.add(exit_in({.sample = std::to_string(i)}));
  const Sums rows = sums_of(summary.by_task());
  CHECK(rows.rows == Summary::kMostTasks + 1);
  check_whole(rows, kMany);
}
