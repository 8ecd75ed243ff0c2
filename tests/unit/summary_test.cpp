// SPDX-License-Identifier: Apache-2.0
#include <tracer/summary.hpp>

#include <doctest/doctest.h>

using namespace tracer;

namespace {

struct Run {
  std::uint32_t pid = 1;
  std::optional<std::string> tool = {};
  std::optional<std::string> step = {};
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::optional<std::uint64_t> cpu_ns = 0;
  std::optional<std::uint64_t> peak = {};
  std::int32_t status = 0;
};

ProgramAccount program_of(const Run& run) {
  ProgramAccount program;
  program.start_ns = run.start_ns;
  program.end_ns = run.end_ns;
  program.tool = run.tool;
  program.account.cpu_ns = run.cpu_ns;
  program.account.read_bytes = 10;
  program.account.written_bytes = 20;
  program.account.peak_rss_bytes = run.peak;
  return program;
}

std::shared_ptr<const Process> process_of(const Run& run) {
  Process process;
  process.pid = run.pid;
  process.context.step = run.step;
  return std::make_shared<const Process>(process);
}

Event exit_of(const Run& run) {
  ProcessExit exit;
  exit.process = process_of(run);
  exit.exit_code = run.status;
  exit.program = program_of(run);
  return exit;
}

Event exec_of(const Run& run) {
  ProcessExec exec;
  exec.process = process_of(run);
  exec.ended = program_of(run);
  return exec;
}

}  // namespace

TEST_CASE("an empty summary has nothing and divides by nothing") {
  const Summary summary;
  CHECK(summary.by_tool().empty());
  CHECK(summary.by_step().empty());
  CHECK(summary.total().processes == 0);
  CHECK(summary.total().wall_ns == 0);
  CHECK_FALSE(summary.total().cpu_utilization().has_value());
  CHECK_FALSE(summary.end().has_value());
}

TEST_CASE("tools are summed over their programs, most cpu first") {
  Summary summary;
  summary.add(exit_of({.tool = "cat", .start_ns = 100, .end_ns = 200, .cpu_ns = 10, .peak = 5000}));
  summary.add(exit_of({.tool = "bwa mem", .start_ns = 150, .end_ns = 350, .cpu_ns = 300, .peak = 7000}));
  summary.add(exit_of({.tool = "bwa mem", .start_ns = 160, .end_ns = 260, .cpu_ns = 100, .peak = 6000, .status = 1}));
  summary.add(exit_of({.start_ns = 100, .end_ns = 101, .cpu_ns = {}}));
  const auto rows = summary.by_tool();
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].name == "bwa mem");
  CHECK(rows[0].processes == 2);
  CHECK(rows[0].failed == 1);
  CHECK(rows[0].wall_ns == 300);
  CHECK(rows[0].cpu_ns == 400);
  CHECK(rows[0].read_bytes == 20);
  CHECK(rows[0].written_bytes == 40);
  CHECK(rows[0].peak_rss_bytes == 7000);
  CHECK(rows[0].unknown_peaks == 0);
  CHECK(rows[0].cpu_utilization() == doctest::Approx(400.0 / 300.0));
  CHECK(rows[1].name == "cat");
  CHECK(rows[2].unknown_peaks == 1);
  CHECK_FALSE(rows[2].peak_rss_bytes.has_value());
  const SummaryRow total = summary.total();
  CHECK(total.processes == 4);
  CHECK(total.cpu_ns == 410);
  CHECK(total.wall_ns == 250);
  CHECK(total.peak_rss_bytes == 7000);
  CHECK(summary.exits() == 4);
}

TEST_CASE("a program that an exec ended counts for its tool, but as no process") {
  Summary summary;
  summary.add(exec_of({.tool = "bash", .start_ns = 100, .end_ns = 110, .cpu_ns = 5}));
  summary.add(exit_of({.tool = "cat", .start_ns = 110, .end_ns = 120, .cpu_ns = 1}));
  const auto rows = summary.by_tool();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].name == "bash");
  CHECK(rows[0].processes == 0);
  CHECK(rows[0].cpu_ns == 5);
  CHECK(summary.total().processes == 1);
  CHECK(summary.total().cpu_ns == 6);
}

TEST_CASE("steps span from first start to last end, in order of their start") {
  Summary summary;
  summary.add(exit_of({.step = "sort", .start_ns = 500, .end_ns = 700, .cpu_ns = 1}));
  summary.add(exit_of({.step = "align", .start_ns = 300, .end_ns = 400, .cpu_ns = 1}));
  summary.add(exit_of({.step = "align", .start_ns = 100, .end_ns = 200, .cpu_ns = 1}));
  summary.add(exit_of({.start_ns = 1, .end_ns = 2}));
  const auto rows = summary.by_step();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].name == "align");
  CHECK(rows[0].wall_ns == 300);
  CHECK(rows[0].first_start_ns == 100);
  CHECK(rows[0].processes == 2);
  CHECK(rows[1].name == "sort");
}

TEST_CASE("of many failures the first hundred are kept and all are counted") {
  Summary summary;
  for (std::uint32_t pid = 1; pid <= 250; ++pid) summary.add(exit_of({.pid = pid, .tool = "false", .status = 1}));
  CHECK(summary.failed() == 250);
  REQUIRE(summary.failures().size() == Summary::kMaxFailures);
  CHECK(summary.failures().front().process->pid == 1);
  CHECK(summary.failures().back().process->pid == 100);
  CHECK(summary.failures().front().exit_code == 1);
  CHECK(summary.total().failed == 250);
}

TEST_CASE("a signal is a failure") {
  ProcessExit exit;
  exit.process = std::make_shared<const Process>();
  exit.exit_signal = 11;
  exit.core_dumped = true;
  Summary summary;
  summary.add(exit);
  REQUIRE(summary.failures().size() == 1);
  CHECK(summary.failures()[0].exit_signal == 11);
  CHECK(summary.failures()[0].core_dumped);
}

TEST_CASE("survivors, losses and the end are kept") {
  Summary summary;
  ProcessSample sample;
  sample.process = std::make_shared<const Process>();
  sample.threads = 3;
  summary.add(sample);
  summary.add(Loss{1, "a", 4});
  summary.add(Loss{2, "b", 5});
  SessionEnd end;
  end.exits_delivered = 7;
  summary.add(end);
  summary.add(ProcessStart{1, sample.process, {}});
  REQUIRE(summary.survivors().size() == 1);
  CHECK(summary.survivors()[0].threads == 3);
  CHECK(summary.losses() == 9);
  CHECK(summary.end()->exits_delivered == 7);
}

TEST_CASE("times that run backwards do not make a wall time of centuries") {
  Summary summary;
  summary.add(exit_of({.tool = "x", .start_ns = 500, .end_ns = 100}));
  CHECK(summary.by_tool()[0].wall_ns == 0);
  CHECK(summary.total().wall_ns == 0);
}
