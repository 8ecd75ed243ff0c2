// SPDX-License-Identifier: Apache-2.0
#include "report/sums/task_tree.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <tracer/report.hpp>

#include "context/layers.hpp"
#include "report/brief.hpp"
#include "summed_events.hpp"

using namespace summed;
using namespace tracer;
using tracer::internal::are_commands_alone;
using tracer::internal::run_of;

namespace {

Context task_of(const std::string& task_id, bool own = false) {
  return {.pipeline = "/data/main.nf",
          .step = "ALIGN",
          .task = "ALIGN (" + task_id + ")",
          .task_id = task_id,
          .engine = "nextflow",
          .run_id = "1-1",
          .engine_own = own};
}

Context run_only() { return {.pipeline = "/data/main.nf", .engine = "nextflow", .run_id = "1-1", .engine_own = true}; }

ProcessExit exit_in(const Context& context, const Run& run) {
  ProcessExit exit = *exit_of(run).get_if<ProcessExit>();
  exit.process = build::process({.pid = run.pid, .start_ns = 0, .tool = run.tool, .context = context});
  exit.program.engine_own = context.engine_own;
  return exit;
}

ProcessSample holding(const Context& context, std::uint64_t time_ns, std::uint32_t pid, std::uint64_t held) {
  ProcessSample sample = sample_at(time_ns, pid, held);
  sample.process = build::process({.pid = pid, .start_ns = 0, .context = context});
  return sample;
}

Context script_task(std::uint64_t key, const std::string& engine = "shell") {
  Context context{
      .run = "all.sh", .step = "qc.sh", .task = "qc.sh S1", .task_id = "7-1", .engine = engine, .run_id = "1-1"};
  context.provenance.run = context.provenance.step = context.provenance.task = context.provenance.task_id =
      Provenance::kInferred;
  context.run_key = Key{1};
  context.task_key = Key{key};
  return context;
}

/// A command of a minute whose tasks, of 5 s each, are all that is in it.
std::vector<Event> minute_with(const std::vector<Context>& tasks, std::uint64_t without_task_ns) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  Context run = run_of(tasks.front());
  run.provenance.run = Provenance::kInferred;
  std::vector<Event> events;
  for (const Context& task : tasks) {
    events.emplace_back(
        exit_in(task, {.pid = 7, .tool = "qc.sh", .start_ns = kSecond, .end_ns = 6 * kSecond, .cpu_ns = 9}));
    TaskFinish finish;
    finish.context = std::make_shared<const Context>(task);
    finish.begin_ns = kSecond, finish.end_ns = 6 * kSecond;
    events.emplace_back(finish);
  }
  events.emplace_back(exit_in(run, {.pid = 1, .tool = "all.sh", .start_ns = 1, .end_ns = 60 * kSecond, .cpu_ns = 100}));
  RunFinish over;
  over.context = std::make_shared<const Context>(run);
  over.end_ns = 60 * kSecond;
  over.without_task_ns = without_task_ns;
  events.emplace_back(over);
  return events;
}

}  // namespace

TEST_CASE("a run whose only tasks are scripts that ran for less than a fifth of its time counts as one without") {
  constexpr std::uint64_t kMuch = 48'000'000'001;
  const Summary few = summary_of(minute_with({script_task(2)}, kMuch));
  const auto alone = make_report(few).tree;
  REQUIRE(alone.size() == 1);
  CHECK(alone[0].row.cpu_ns->value == 109);
  CHECK(are_commands_alone(alone));
  CHECK(few.by_step().empty());
  CHECK(few.critical_paths().empty());
  CHECK(few.by_tool().size() == 2);
  CHECK(few.total().cpu_ns == 109);
  CHECK_FALSE(are_commands_alone(make_report(summary_of(minute_with({script_task(2)}, kMuch - 1))).tree));
  CHECK(summary_of(minute_with({script_task(2), script_task(3, "make")}, kMuch)).by_step().size() == 1);
  Context labeled = script_task(2);
  labeled.provenance.step = Provenance::kLabel;
  CHECK(summary_of(minute_with({labeled}, kMuch)).critical_paths().size() == 1);
  // A run that has a name stays, with what runs in it.
  Context named = script_task(2);
  named.pipeline = "demo";
  const auto runs = summary_of(minute_with({named}, kMuch)).tree();
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].row.cpu_ns == 109);
  REQUIRE(runs[0].below.size() == 2);
  CHECK(runs[0].below[0].level == SummaryLevel::kTool);
  CHECK_FALSE(are_commands_alone(make_report(summary_of(minute_with({named}, kMuch))).tree));
}

TEST_CASE("a task whose step, id or attempt becomes known late has one row") {
  Context before = task_of("7-3e8", true);
  before.step.reset(), before.task.reset();
  const Context after = task_of("a");
  Context again = after;
  again.attempt = 2;
  ContextChange change;
  change.before = std::make_shared<const Context>(before);
  change.after = std::make_shared<const Context>(after);
  ContextChange second;
  second.before = change.after;
  second.after = std::make_shared<const Context>(again);
  const auto summary =
      summary_of({holding(before, 100, 2, 200),
                  exit_in(before, {.pid = 2, .tool = "tee", .start_ns = 10, .end_ns = 200, .cpu_ns = 3}), change,
                  exit_in(after, {.pid = 3, .tool = "bwa mem", .start_ns = 20, .end_ns = 300, .cpu_ns = 70}), second,
                  exit_in(again, {.pid = 4, .tool = "sort", .start_ns = 250, .end_ns = 400, .cpu_ns = 5}),
                  exit_in(task_of("b"), {.pid = 5, .tool = "bwa mem", .start_ns = 20, .end_ns = 100, .cpu_ns = 60})});
  REQUIRE(summary.tree().size() == 1);
  const SummaryNode run = summary.tree()[0];
  CHECK(run.row.cpu_ns == 138);
  REQUIRE(run.below.size() == 1);
  const SummaryNode& step = run.below[0];
  CHECK(step.row.name == "ALIGN");
  CHECK(step.row.cpu_ns == 138);
  CHECK(step.row.wall_ns == 390);
  CHECK(step.row.processes == 4);
  REQUIRE(step.below.size() == 2);
  CHECK(step.below[0].row.name == "ALIGN (a) (attempt 2)");
  CHECK(step.below[0].row.cpu_ns == 78);
  CHECK(step.below[0].below.size() == 3);
  CHECK(summary.by_task().size() == 2);
  REQUIRE(summary.by_step().size() == 1);
  CHECK(summary.by_step()[0].cpu_ns == 138);
}

TEST_CASE("the tree has runs, steps, tasks and tools, and what the engine did itself in a row of its own") {
  ProcessExec exec;
  exec.process = build::process({.pid = 3, .start_ns = 0, .tool = "bwa mem", .context = task_of("a")});
  exec.ended = program_of({.tool = ".command.run", .start_ns = 10, .end_ns = 12, .cpu_ns = 2});
  exec.ended.engine_own = true;
  const Summary summary = summary_of(
      {exit_in(run_only(), {.pid = 1, .tool = "nextflow run", .end_ns = 900, .cpu_ns = 500}),
       exit_in(task_of("a", true), {.pid = 2, .tool = "tee", .start_ns = 10, .end_ns = 400, .cpu_ns = 3}), exec,
       exit_in(task_of("a"), {.pid = 3, .tool = "bwa mem", .start_ns = 12, .end_ns = 300, .cpu_ns = 70}),
       exit_in(task_of("b"), {.pid = 4, .tool = "bwa mem", .start_ns = 20, .end_ns = 100, .cpu_ns = 60})});
  const auto runs = summary.tree();
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].row.name == "main.nf");
  CHECK(runs[0].row.processes == 4);
  CHECK(runs[0].row.cpu_ns == 635);
  REQUIRE(runs[0].below.size() == 2);
  CHECK(runs[0].below[1].row.name == "(nextflow itself)");
  CHECK(runs[0].below[1].row.cpu_ns == 500);
  const SummaryNode& step = runs[0].below[0];
  CHECK(step.row.name == "ALIGN");
  REQUIRE(step.below.size() == 2);
  CHECK(step.below[0].row.name == "ALIGN (a)");
  CHECK(step.below[0].row.wall_ns == 390);
  REQUIRE(step.below[0].below.size() == 2);
  CHECK(step.below[0].below[0].row.name == "bwa mem");
  CHECK(step.below[0].below[0].row.cpu_ns == 70);
  CHECK(step.below[0].below[1].level == SummaryLevel::kEngine);
  CHECK(step.below[0].below[1].row.cpu_ns == 5);
}

TEST_CASE("the memory of a run is that of all at once, of a step that of its largest task") {
  const Report report = make_report(
      summary_of({holding(run_only(), 100, 1, 1000), holding(task_of("a"), 100, 2, 200),
                  holding(task_of("b"), 100, 3, 300), holding(run_only(), 200, 1, 1000),
                  holding(task_of("a"), 200, 2, 250), exit_in(task_of("a"), {.pid = 2, .end_ns = 300, .peak = 250}),
                  exit_in(task_of("b"), {.pid = 3, .end_ns = 150, .peak = 300}),
                  exit_in(run_only(), {.pid = 1, .end_ns = 400, .peak = 1000})}));
  REQUIRE(report.tree.size() == 1);
  CHECK(report.tree[0].row.memory_bytes->value == 1500);
  CHECK(report.tree[0].below[0].row.name == "ALIGN");
  CHECK(report.tree[0].below[0].row.memory_bytes->value == 300);
}

TEST_CASE("the memory of a step in which nothing tells tasks apart is that of all at once") {
  const Context step = {.pipeline = "demo", .run = "r1", .step = "align"};
  const Report report = make_report(summary_of(
      {holding(step, 100, 1, 100), holding(step, 100, 2, 50), holding(step, 200, 1, 100),
       exit_in(step, {.pid = 1, .end_ns = 300, .peak = 100}), exit_in(step, {.pid = 2, .end_ns = 150, .peak = 50})}));
  REQUIRE(report.tree.size() == 1);
  CHECK(report.tree[0].below[0].row.memory_bytes->value == 150);
  // All of it is one task, which is called as it is.
  REQUIRE(report.tree[0].below[0].below.size() == 1);
  const ReportNode& task = report.tree[0].below[0].below[0];
  CHECK(task.level == SummaryLevel::kTask);
  CHECK(task.row.name == "align");
  CHECK(task.row.memory_bytes->value == 150);
}
