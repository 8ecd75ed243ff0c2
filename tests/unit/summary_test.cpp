// SPDX-License-Identifier: Apache-2.0
#include <tracer/summary.hpp>

#include <string>
#include <vector>

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

ProcessSample sample_at(std::uint64_t time_ns, std::uint32_t pid, std::optional<std::uint64_t> held,
                        std::optional<std::string> step = {}, std::optional<std::string> of = {}) {
  Process process;
  process.pid = pid;
  process.context.step = std::move(step);
  process.context.sample = std::move(of);
  ProcessSample sample;
  sample.time_ns = time_ns;
  sample.process = std::make_shared<const Process>(process);
  sample.rss_anonymous_bytes = held;
  return sample;
}

ToolSample folded_at(std::uint64_t time_ns, std::optional<std::uint64_t> held, std::optional<std::string> step = {}) {
  ToolSample sample;
  sample.time_ns = time_ns;
  sample.context.step = std::move(step);
  sample.processes = 65;
  sample.held_bytes = held;
  return sample;
}

Summary summary_of(const std::vector<Event>& events) {
  Summary summary;
  for (const Event& event : events) summary.add(event);
  return summary;
}

std::vector<std::uint32_t> survivors_of(const Summary& summary) {
  std::vector<std::uint32_t> pids;
  for (const ProcessSample& sample : summary.survivors()) pids.push_back(sample.process->pid);
  return pids;
}

using Pids = std::vector<std::uint32_t>;

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
  CHECK(rows[0].unknown_cpus == 0);
  CHECK(summary.total().processes == 1);
  CHECK(summary.total().cpu_ns == 6);
}

TEST_CASE("what is not known of a program is missing in the sums, and counted") {
  Summary summary;
  summary.add(exec_of({.tool = "bash", .step = "sort", .end_ns = 110, .cpu_ns = {}}));
  ProcessExit exit = std::get<ProcessExit>(exit_of({.tool = "cat", .step = "sort", .end_ns = 120, .cpu_ns = {}}));
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
  ProcessExit exit = std::get<ProcessExit>(exit_of({.tool = "cat"}));
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
    ProcessExit exit = std::get<ProcessExit>(
        exit_of({.step = "align", .start_ns = start_ns, .end_ns = start_ns + 10, .cpu_ns = start_ns, .peak = 1}));
    Process process = *exit.process;
    process.context.sample = of;
    exit.process = std::make_shared<const Process>(process);
    exit.program.account.ledger.wall_ns = exit.program.account.ledger.disk_ns = start_ns;
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
  CHECK(rows[0].ledger.disk_ns == 50);
  CHECK(rows[0].task_peak_bytes == 50'000);
  CHECK(rows[1].task.sample == "s1");
  CHECK(rows[1].ledger.disk_ns == 100);
  CHECK(summary.by_step().size() == 1);
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
  end.processes_started = 8;
  end.processes_ended = 7;
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
  CHECK_FALSE(summary.by_tool().at(0).task_peak_bytes.has_value());
}

TEST_CASE("the last snapshot counts for the peak though none follows") {
  CHECK(summary_of({sample_at(100, 1, 10), sample_at(200, 1, 30)}).total().task_peak_bytes == 30);
}

TEST_CASE("a task's peak is at least its largest process's, and absent without a snapshot") {
  const Event exit = exit_of({.pid = 1, .step = "align", .start_ns = 1, .end_ns = 400, .peak = 5000});
  CHECK(summary_of({sample_at(100, 1, 100, "align"), exit}).total().task_peak_bytes == 5000);
  CHECK(summary_of({sample_at(100, 1, 100, "align"), exit}).by_step().at(0).task_peak_bytes == 5000);
  CHECK_FALSE(summary_of({exit}).total().task_peak_bytes.has_value());
}

TEST_CASE("a peak that no snapshot saw is a floor") {
  const Event exit = exit_of({.pid = 1, .step = "align", .start_ns = 1, .end_ns = 400, .peak = 5000});
  CHECK(summary_of({sample_at(100, 1, 4999, "align"), exit}).total().task_peak_is_floor);
  CHECK(summary_of({sample_at(100, 1, 4999, "align"), exit}).by_step().at(0).task_peak_is_floor);
  CHECK_FALSE(summary_of({sample_at(100, 1, 5000, "align"), exit}).total().task_peak_is_floor);
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
    Process process;
    process.pid = pid;
    process.context = std::move(context);
    ProcessSample sample = sample_at(100, pid, 100);
    sample.process = std::make_shared<const Process>(process);
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

TEST_CASE("ledgers are summed over the programs that have one") {
  ProcessExit with = std::get<ProcessExit>(exit_of({.tool = "cat"}));
  with.program.account.ledger.wall_ns = 100;
  with.program.account.ledger.disk_ns = 40;
  with.program.account.ledger.pipe_read_peer_pid = 7;
  ProcessExit throttled = with;
  throttled.program.account.ledger.throttled_ns = 5;
  const Summary summary = summary_of({with, exit_of({.tool = "cat"}), throttled});
  const Ledger ledger = summary.total().ledger;
  CHECK(ledger.wall_ns == 200);
  CHECK(ledger.disk_ns == 80);
  CHECK(ledger.throttled_ns == 5);
  CHECK_FALSE(ledger.sleep_ns.has_value());
  CHECK_FALSE(ledger.pipe_read_peer_pid.has_value());
}
