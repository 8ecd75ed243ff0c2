// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "summed_events.hpp"

using namespace summed;
using namespace tracer;
using namespace tracer::internal;

namespace {

Event exec_of(const Run& run) {
  ProcessExec exec;
  exec.process = process_of(run);
  exec.ended = program_of(run);
  return exec;
}

std::vector<std::uint32_t> survivors_of(const Summary& summary) {
  std::vector<std::uint32_t> pids;
  for (const Survivor& each : summary.survivors()) pids.push_back(each.sample.process->pid);
  return pids;
}

using Pids = std::vector<std::uint32_t>;

Event failure_of(std::uint32_t pid, std::string tool, std::int32_t status) {
  ProcessExit exit = (*(exit_of({.pid = pid, .tool = tool, .status = status})).get_if<ProcessExit>());
  exit.process = build::process({.pid = pid, .tool = std::move(tool)});
  return exit;
}

}  // namespace

TEST_CASE("an empty summary has nothing and divides by nothing") {
  const Summary summary;
  CHECK(summary.by_tool().empty());
  CHECK(summary.by_step().empty());
  CHECK(summary.total().processes == 0);
  CHECK(summary.total().wall_ns == 0);
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
  CHECK(rows[0].wall_ns == 200);
  CHECK(rows[0].lives_ns == 300);
  CHECK(rows[0].cpu_ns == 400);
  CHECK(rows[0].read_bytes == 20);
  CHECK(rows[0].written_bytes == 40);
  CHECK(rows[0].peak_rss_bytes == 7000);
  CHECK(rows[0].unknown_peaks == 0);
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

TEST_CASE("tools of more names than are told apart are one, and nothing is missing in their sums") {
  Summary summary;
  constexpr std::size_t kNames = Summary::kMostTools + 100;
  for (std::size_t i = 0; i < kNames; ++i) {
    ProcessExit exit = *exit_of({.tool = "sh " + std::to_string(i), .cpu_ns = 10}).get_if<ProcessExit>();
    exit.process = build::process({.tool = "sh " + std::to_string(i), .context = {.run = "r", .step = "s"}});
    summary.add(exit);
  }
  summary.add(exit_of({.tool = "sh 0", .cpu_ns = 10}));
  const auto rows = summary.by_tool();
  REQUIRE(rows.size() == Summary::kMostTools + 1);
  CHECK(rows[0].name == "(others)");
  CHECK(rows[0].processes == 100);
  CHECK(rows[1].name == "sh 0");
  CHECK(rows[1].processes == 2);
  CHECK(summary.total().processes == kNames + 1);
  const auto runs = summary.tree();
  REQUIRE(runs.size() == 1);
  REQUIRE(runs[0].below.size() == 1);
  REQUIRE(runs[0].below[0].below.size() == 1);
  CHECK(runs[0].below[0].below[0].below.size() == Summary::kMostTools + 1);
  CHECK(runs[0].row.processes == kNames);
}

TEST_CASE("a process counts for each tool that it has executed, and once in all") {
  Summary summary;
  ProcessExec exec = *exec_of({.tool = "bash", .start_ns = 100, .end_ns = 110, .cpu_ns = 5}).get_if<ProcessExec>();
  exec.process = process_of({.tool = "cat"});
  summary.add(exec);
  summary.add(exit_of({.tool = "cat", .start_ns = 110, .end_ns = 120, .cpu_ns = 1}));
  const auto rows = summary.by_tool();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].name == "bash");
  CHECK(rows[0].processes == 1);
  CHECK(rows[0].cpu_ns == 5);
  CHECK(rows[0].unknown_cpus == 0);
  CHECK(summary.total().processes == 1);
  CHECK(summary.total().cpu_ns == 6);
}

TEST_CASE("what is not known of a program is missing in the sums, and counted") {
  Summary summary;
  summary.add(exec_of({.tool = "bash", .step = "sort", .end_ns = 110, .cpu_ns = {}}));
  ProcessExit exit = (*(exit_of({.tool = "cat", .step = "sort", .end_ns = 120, .cpu_ns = {}})).get_if<ProcessExit>());
  exit.program.account.written_bytes = {};
  exit.program.account.read_bytes = {};
  summary.add(exit);
  summary.add(exit_of({.tool = "cat", .step = "sort", .end_ns = 130, .cpu_ns = 50}));
  const auto tools = summary.by_tool();
  REQUIRE(tools.size() == 2);
  CHECK(tools[0].name == "cat");
  CHECK(tools[0].unknown_cpus == 1);
  CHECK(tools[1].unknown_cpus == 1);
  CHECK(tools[1].unknown_writes == 0);
  CHECK(tools[1].unbounded_reads == 0);
  for (const SummaryRow& row : {summary.by_step().at(0), summary.total()}) {
    CAPTURE(row.name);
    CHECK(row.cpu_ns == 50);
    CHECK(row.unknown_cpus == 2);
    CHECK(row.written_bytes == 40);
    CHECK(row.unknown_writes == 1);
    CHECK(row.read_bytes == 20);
    CHECK(row.unbounded_reads == 1);
    CHECK(row.unknown_reads == 0);
  }
}

TEST_CASE("reads of which a bound is known are in the bound") {
  ProcessExit exit = (*(exit_of({.tool = "cat"})).get_if<ProcessExit>());
  exit.program.account.read_bytes = {};
  exit.program.account.read_at_most_bytes = 9000;
  const SummaryRow doubtful = summary_of({exit, exit_of({.tool = "cat"})}).total();
  CHECK(doubtful.read_bytes == 10);
  CHECK(doubtful.read_at_most_bytes == 9010);
  CHECK(doubtful.unknown_reads == 1);
  CHECK(doubtful.unbounded_reads == 0);
  // What exec itself reads is nobody's doubt.
  exit.program.account.read_at_most_bytes = 8192;
  CHECK(summary_of({exit}).total().unknown_reads == 0);
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

TEST_CASE("tasks of one step are rows of their own, each with its own sums and peak") {
  Summary summary;
  for (const auto& [of, start_ns] : {std::pair{"s2", 50u}, {"s1", 100u}}) {
    ProcessExit exit =
        (*(exit_of({.step = "align", .start_ns = start_ns, .end_ns = start_ns + 10, .cpu_ns = start_ns, .peak = 1000 * start_ns}))
              .get_if<ProcessExit>());
    exit.process = build::process({.context = {.step = "align", .sample = of}});
    Ledger& ledger = exit.program.account.ledger.emplace();
    ledger.wall_ns = ledger.disk_ns = start_ns;
    summary.add(sample_at(start_ns, 1, 1000 * start_ns, "align", of));
    summary.add(exit);
  }
  summary.add(exit_of({.start_ns = 1, .end_ns = 2}));
  const auto rows = summary.by_task();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].task.sample == "s2");
  CHECK(rows[0].name == "align");
  CHECK(rows[0].processes == 1);
  CHECK(rows[0].cpu_ns == 50);
  CHECK(rows[0].wall_ns == 10);
  CHECK(rows[0].ledger->disk_ns == 50);
  CHECK(rows[0].task_peak_bytes == 50'000);
  CHECK(rows[1].task.sample == "s1");
  CHECK(rows[1].ledger->disk_ns == 100);
  CHECK(summary.by_step().size() == 1);
}

TEST_CASE("failures of one tool with the same status are one, with the first process and their number") {
  Summary summary;
  for (std::uint32_t pid = 1; pid <= 250; ++pid) summary.add(failure_of(pid, "false", 1));
  summary.add(failure_of(251, "false", 2));
  summary.add(failure_of(252, "true", 1));
  CHECK(summary.failed() == 252);
  REQUIRE(summary.failures().size() == 3);
  CHECK(summary.failures()[0].process->pid == 1);
  CHECK(summary.failures()[0].exit_code == 1);
  CHECK(summary.failures()[0].count == 250);
  CHECK(summary.failures()[1].exit_code == 2);
  CHECK(summary.failures()[2].process->program->tool == "true");
  CHECK(summary.failures()[2].count == 1);
  CHECK(summary.total().failed == 252);
}

TEST_CASE("of many different failures the first hundred are kept and all are counted") {
  Summary summary;
  for (std::uint32_t pid = 1; pid <= 250; ++pid) summary.add(failure_of(pid, "tool" + std::to_string(pid), 1));
  CHECK(summary.failed() == 250);
  REQUIRE(summary.failures().size() == Summary::kMaxFailures);
  CHECK(summary.failures().back().process->pid == 100);
}

TEST_CASE("a status that is an answer is counted as that and is no failure") {
  Summary summary;
  ProcessExit answer = (*(exit_of({.tool = "grep", .step = "find", .status = 1})).get_if<ProcessExit>());
  answer.status_is_answer = true;
  summary.add(answer);
  summary.add(exit_of({.tool = "grep", .step = "find", .status = 2}));
  CHECK(summary.failed() == 1);
  for (const SummaryRow& row : {summary.by_tool().at(0), summary.by_step().at(0), summary.total()}) {
    CHECK(row.processes == 2);
    CHECK(row.failed == 1);
    CHECK(row.answers == 1);
  }
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
  end.processes_started = 8;
  end.processes_ended = 7;
  end.exits_delivered = 7;
  summary.add(end);
  summary.add(ProcessStart{1, sample.process, {}});
  REQUIRE(summary.survivors().size() == 1);
  CHECK(summary.survivors()[0].sample.threads == 3);
  CHECK(summary.losses() == std::map<std::string, std::uint64_t>{{"a", 4}, {"b", 5}});
  CHECK(summary.end()->exits_delivered == 7);
}

TEST_CASE("times that run backwards do not make a wall time of centuries") {
  Summary summary;
  summary.add(exit_of({.tool = "x", .start_ns = 500, .end_ns = 100}));
  CHECK(summary.by_tool()[0].wall_ns == 0);
  CHECK(summary.total().wall_ns == 0);
}

TEST_CASE("only those of the last snapshot survive") {
  Summary summary = summary_of({sample_at(100, 1, 0), sample_at(100, 2, 0), sample_at(100, 3, 0)});
  CHECK(survivors_of(summary) == Pids{1, 2, 3});
  summary.add(exit_of({.pid = 3}));
  CHECK(survivors_of(summary) == Pids{1, 2});
  summary.add(sample_at(200, 2, 0));
  summary.add(sample_at(200, 4, 0));
  CHECK(survivors_of(summary) == Pids{2, 4});
  summary.add(folded_at(300, 0));
  CHECK(survivors_of(summary).empty());
  summary.add(sample_at(300, 5, 0));
  summary.add(folded_at(300, 0));
  CHECK(survivors_of(summary) == Pids{5});
}

TEST_CASE("when as many have ended as have begun nobody survives") {
  for (const std::uint64_t ended : {std::uint64_t{4}, std::uint64_t{5}}) {
    Summary summary = summary_of({sample_at(100, 1, 0)});
    SessionEnd end;
    end.processes_started = 5;
    end.processes_ended = ended;
    summary.add(end);
    CHECK(summary.survivors().size() == (ended == 5 ? 0 : 1));
  }
}

TEST_CASE("ledgers are summed over the programs that have one") {
  ProcessExit with = (*(exit_of({.tool = "cat"})).get_if<ProcessExit>());
  Ledger& known = with.program.account.ledger.emplace();
  known.wall_ns = 100;
  known.disk_ns = 40;
  known.pipe_read_peer_pid = 7;
  ProcessExit throttled = with;
  throttled.program.account.ledger->throttled_ns = 5;
  const Summary summary = summary_of({with, exit_of({.tool = "cat"}), throttled});
  const Ledger ledger = summary.total().ledger.value();
  CHECK(ledger.wall_ns == 200);
  CHECK(ledger.disk_ns == 80);
  CHECK(ledger.throttled_ns == 5);
  CHECK(ledger.sleep_ns == 0);
  CHECK_FALSE(ledger.pipe_read_peer_pid.has_value());
}

TEST_CASE("a process that executes the same tool again is one of it, and counts once for each other tool") {
  const auto execs = [](const char* before, const char* after, std::uint64_t at_ns) {
    ProcessExec exec;
    exec.time_ns = at_ns;
    exec.process = process_of({.pid = 1, .tool = after});
    exec.ended = program_of({.pid = 1, .tool = before, .start_ns = at_ns - 10, .end_ns = at_ns});
    return Event(exec);
  };
  const Event end = exit_of({.pid = 1, .tool = "x.py", .start_ns = 40, .end_ns = 90});
  // As env, nice and setsid are called by what they start.
  const Summary once =
      summary_of({execs("bash", "x.py", 10), execs("x.py", "x.py", 20), execs("x.py", "x.py", 40), end});
  for (const SummaryRow& row : once.by_tool()) CHECK(row.processes == (row.name == "x.py" ? 1 : 0));
  const Summary two = summary_of({execs("make", "sort", 20), execs("sort", "x.py", 40), end});
  CHECK(two.by_tool().size() == 3);
  for (const SummaryRow& row : two.by_tool()) CHECK(row.processes == 1);
}
