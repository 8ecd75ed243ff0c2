// SPDX-License-Identifier: Apache-2.0
#include "report/sums/task_tree.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <tracer/report.hpp>

#include "summed_events.hpp"

using namespace summed;
using namespace tracer;

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

}  // namespace

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

TEST_CASE("the memory of a step without tasks is that of all at once") {
  const Context step = {.pipeline = "demo", .run = "r1", .step = "align"};
  const Report report = make_report(summary_of(
      {holding(step, 100, 1, 100), holding(step, 100, 2, 50), holding(step, 200, 1, 100),
       exit_in(step, {.pid = 1, .end_ns = 300, .peak = 100}), exit_in(step, {.pid = 2, .end_ns = 150, .peak = 50})}));
  REQUIRE(report.tree.size() == 1);
  CHECK(report.tree[0].below[0].row.memory_bytes->value == 150);
}
