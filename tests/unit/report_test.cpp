// SPDX-License-Identifier: Apache-2.0
#include <tracer/report.hpp>

#include <optional>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "report/report_sums.hpp"
#include "show/certificate_text.hpp"
#include "summed_events.hpp"

using namespace tracer;
using namespace tracer::internal;
using namespace summed;

namespace {

/// Of a kernel session: the lifecycle is always there.
SessionFigures session_of(ContextTotals totals) {
  SessionFigures session;
  session.totals = {std::move(totals)};
  session.families = {{Family::kLifecycle, true, "", {}}};
  session.tier = Tier::kKernel;
  return session;
}

ContextTotals totals_of(std::uint64_t ended, std::uint64_t failed, std::uint64_t cpu_ns) {
  ContextTotals totals;
  totals.ended = ended;
  totals.failed = failed;
  totals.account.cpu_ns = cpu_ns;
  totals.account.read_bytes = 1000;
  totals.account.written_bytes = 2000;
  return totals;
}

Event answer_of(std::uint32_t pid) {
  ProcessExit exit = (*(exit_of({.pid = pid, .tool = "grep", .status = 1})).get_if<ProcessExit>());
  exit.status_is_answer = true;
  return exit;
}

}  // namespace

TEST_CASE("a report of nothing has no figures, and is complete") {
  const Report report = make_report(Summary(), session_of({}));
  CHECK(report.tools.empty());
  CHECK(report.total.processes == 0);
  CHECK_FALSE(report.total.cpu_utilization.has_value());
  CHECK_FALSE(report.total.memory_bytes.has_value());
  CHECK(report.total.time.empty());
  CHECK(report.completeness.complete);
  CHECK(report.completeness.tier == Tier::kKernel);
  CHECK_FALSE(report.cost.cpu_share.has_value());
}

TEST_CASE("when nothing is lost the total is that of the events") {
  const Summary summary = summary_of({exit_of({.pid = 1, .tool = "a", .start_ns = 100, .end_ns = 300, .cpu_ns = 50}),
                                      exit_of({.pid = 2, .tool = "b", .start_ns = 100, .end_ns = 200, .cpu_ns = 70})});
  SessionFigures session = session_of(totals_of(2, 0, 999));
  session.elapsed_ns = 5000;
  session.statistics.cost.cpu_ns = 50;
  const Report report = make_report(summary, session);
  CHECK(report.completeness.complete);
  CHECK(report.completeness.total_is_whole);
  CHECK(report.completeness.exits_seen == 2);
  CHECK(report.completeness.ended == 2);
  CHECK(report.total.processes == 2);
  CHECK(report.total.cpu_ns == Figure{120});
  CHECK(report.total.wall_ns == 200);
  CHECK(report.total.cpu_utilization == doctest::Approx(0.6));
  CHECK(report.total.read_bytes == Figure{20});
  CHECK(report.cost.cpu_share == doctest::Approx(0.01));
  REQUIRE(report.tools.size() == 2);
  CHECK(report.tools[0].name == "b");
  CHECK(report.tools[0].cpu_utilization == doctest::Approx(0.7));
}

TEST_CASE("exits that were lost don't change what the kernel has added up") {
  const Summary summary = summary_of({exit_of({.start_ns = 100, .end_ns = 300, .cpu_ns = 50})});
  SessionFigures session = session_of(totals_of(3, 1, 999));
  session.statistics.losses = {{"ring_full_exit", 2}};
  session.elapsed_ns = 5000;
  const Report report = make_report(summary, session);
  CHECK_FALSE(report.completeness.complete);
  CHECK(report.completeness.total_is_whole);
  CHECK(report.completeness.exits_seen == 1);
  CHECK(report.completeness.ended == 3);
  CHECK(report.completeness.losses.at("ring_full_exit") == 2);
  CHECK(report.total.processes == 3);
  CHECK(report.total.cpu_ns == Figure{999});
  CHECK(report.total.wall_ns == 5000);
  CHECK(report.total.read_bytes == Figure{1000});
  CHECK(report.total.written_bytes == Figure{2000});
}

TEST_CASE("where events of a service are missing, nobody knows how many processes ended") {
  const Summary summary = summary_of({exit_of({.pid = 1}), Loss{1, "service_gap", 1}});
  SessionFigures session = session_of(totals_of(2, 0, 5));
  session.tier = Tier::kService;
  Report report = make_report(summary, session);
  CHECK_FALSE(report.completeness.complete);
  CHECK(report.completeness.exits_seen == 1);
  CHECK(report.completeness.ended == std::nullopt);
  CHECK(to_json(report).find("\"ended\"") == std::string::npos);
  CHECK(seen_text(report.completeness) ==
        "1 ended process seen, by the service; how many ended is not known; events of the service are missing");
  CHECK(sum_of_reports({report, make_report(Summary(), session_of(totals_of(1, 0, 5)))}, {0, 0}).completeness.ended ==
        std::nullopt);
  // Also in what such a session has recorded.
  SessionEnd end;
  end.processes_ended = 2;
  Summary recorded = summary_of({exit_of({.pid = 1}), Loss{1, "service_gap", 1}});
  recorded.add(end);
  CHECK(make_report(recorded).completeness.ended == std::nullopt);
  // What a slow client was not given is lost to it alone; a session of the kernel has counted it.
  const Summary slow = summary_of({exit_of({.pid = 1}), Loss{1, "queue_full", 1}});
  CHECK(make_report(slow, session).completeness.ended == std::nullopt);
  session.tier = Tier::kKernel;
  CHECK(make_report(slow, session).completeness.ended == 2);
}

TEST_CASE("exits that are missing without a loss make a report incomplete") {
  const Report report = make_report(Summary(), session_of(totals_of(1, 0, 5)));
  CHECK_FALSE(report.completeness.complete);
  CHECK(report.completeness.ended == 1);
}

TEST_CASE("where processes were polled, sums are lower bounds, and what the kernel counted is no sum") {
  const Event seen = exit_of({.pid = 1, .tool = "a", .start_ns = 100, .end_ns = 300, .cpu_ns = 50});
  ProcessExit partly =
      *exit_of({.pid = 2, .tool = "b", .start_ns = 100, .end_ns = 300, .cpu_ns = 70}).get_if<ProcessExit>();
  for (Account* account : {&partly.account, &partly.program.account}) {
    account->cpu_at_least_ns = std::exchange(account->cpu_ns, std::nullopt);
    account->missed_children_cpu_ns = 8;
  }
  partly.exit_code.reset();
  SessionFigures session = session_of(totals_of(2, 0, 0));
  session.tier = Tier::kProc;
  session.statistics.missed_at_most = 4;
  const Report report = make_report(summary_of({seen, partly}), session);
  CHECK_FALSE(report.completeness.complete);
  CHECK_FALSE(report.completeness.total_is_whole);
  CHECK(report.completeness.missed_at_most == 4u);
  CHECK(report.total.cpu_ns == Figure{128, Bound::kAtLeast});
  CHECK(report.total.failed.bound == Bound::kAtLeast);
  REQUIRE(report.tools.size() == 2);
  CHECK(report.tools[0].cpu_ns == Figure{78, Bound::kAtLeast});
  CHECK(report.tools[1].cpu_ns == Figure{50, Bound::kAtLeast});
  CHECK(to_json(report).find(R"("missed_at_most":4)") != std::string::npos);
}

TEST_CASE("a recording of a session that polled says so at its end") {
  SessionEnd end;
  end.missed_at_most = 9;
  Summary summary;
  summary.add(exit_of({.cpu_ns = 50}));
  summary.add(end);
  const Report report = make_report(summary);
  CHECK(report.completeness.missed_at_most == 9u);
  CHECK_FALSE(report.completeness.complete);
  CHECK(report.total.cpu_ns == Figure{50, Bound::kAtLeast});
}

TEST_CASE("threads or processes that the kernel itself lost make the total too small") {
  const Summary summary = summary_of({exit_of({.cpu_ns = 50})});
  SessionFigures session = session_of(totals_of(1, 0, 50));
  session.statistics.losses = {{"ring_full_exit", 1}, {"process_not_tracked", 1}};
  const Report report = make_report(summary, session);
  CHECK_FALSE(report.completeness.complete);
  CHECK_FALSE(report.completeness.total_is_whole);
}

TEST_CASE("when the kernel's sums lack what some have read and written, what is seen is a lower bound") {
  const Summary summary = summary_of({exit_of({.cpu_ns = 50})});
  ContextTotals totals = totals_of(2, 0, 80);
  totals.account.written_bytes = {};
  totals.account.read_bytes = {};
  SessionFigures session = session_of(totals);
  session.statistics.losses = {{"ring_full_exit", 1}};
  const Report report = make_report(summary, session);
  CHECK(report.total.read_bytes == Figure{10, Bound::kAtLeast});
  CHECK(report.total.written_bytes == Figure{20, Bound::kAtLeast});
}

TEST_CASE("reads that the kernel knows a bound of are one in the total") {
  const Summary summary = summary_of({exit_of({.cpu_ns = 50})});
  ContextTotals totals = totals_of(2, 0, 80);
  totals.account.read_bytes = {};
  totals.account.read_at_most_bytes = 5000;
  SessionFigures session = session_of(totals);
  session.statistics.losses = {{"ring_full_exit", 1}};
  CHECK(make_report(summary, session).total.read_bytes == Figure{5000, Bound::kAtMost});
}

TEST_CASE("of processes that lived before, the wall time is that of the session at least") {
  const Summary summary = summary_of({exit_of({.start_ns = 100, .end_ns = 300, .cpu_ns = 50})});
  SessionFigures session = session_of(totals_of(1, 0, 50));
  session.elapsed_ns = 5000;
  CHECK(make_report(summary, session).total.wall_ns == 200);
  session.lived_before = true;
  CHECK(make_report(summary, session).total.wall_ns == 5000);
}

TEST_CASE("CPU time that is not known of some programs is a bound by tool, and the kernel's in the total") {
  const Summary summary = summary_of({exit_of({.pid = 1, .tool = "a", .end_ns = 100, .cpu_ns = {}}),
                                      exit_of({.pid = 2, .tool = "a", .end_ns = 100, .cpu_ns = 50}),
                                      exit_of({.pid = 3, .tool = "b", .end_ns = 100, .cpu_ns = {}})});
  const Report report = make_report(summary, session_of(totals_of(3, 0, 80)));
  CHECK(report.tools.at(0).cpu_ns == Figure{50, Bound::kAtLeast});
  CHECK_FALSE(report.tools.at(1).cpu_ns.has_value());
  CHECK_FALSE(report.tools.at(1).cpu_utilization.has_value());
  CHECK(report.total.cpu_ns == Figure{80});
}

TEST_CASE("the kernel counts answers as failures; the total does not") {
  const Summary summary = summary_of({answer_of(1), answer_of(2), exit_of({.pid = 3, .tool = "sort", .status = 1})});
  const Report report = make_report(summary, session_of(totals_of(3, 3, 0)));
  CHECK(report.total.failed == Figure{1});
  CHECK(report.failures_seen == 1);
  CHECK(report.answers == 2);
}

TEST_CASE("of exits that were lost nobody knows whether they were answers") {
  const Summary summary = summary_of({answer_of(1), exit_of({.pid = 3, .tool = "sort", .status = 1})});
  SessionFigures session = session_of(totals_of(9, 6, 0));
  session.statistics.losses = {{"ring_full_exit", 7}};
  CHECK(make_report(summary, session).total.failed == Figure{5, Bound::kAtMost});
  // All that failed by the kernel's count was seen.
  session.totals = {totals_of(9, 2, 0)};
  CHECK(make_report(summary, session).total.failed == Figure{1});
}

TEST_CASE("a ledger becomes shares, the largest first") {
  ProcessExit exit = (*(exit_of({.tool = "x"})).get_if<ProcessExit>());
  Ledger& ledger = exit.program.account.ledger.emplace();
  ledger.wall_ns = 1000;
  ledger.cpu_ns = 200;
  ledger.cpu_user_ns = 150;
  ledger.cpu_system_ns = 50;
  ledger.pipe_ns = 700;
  ledger.pipe_read_ns = 700;
  ledger.reclaim_ns = 60;
  ledger.swap_ns = 40;
  ledger.disk_ns = 0;
  const auto time = make_report(summary_of({exit}), {}).tools.at(0).time;
  REQUIRE(time.size() == 3);
  CHECK(time[0].cause == TimeCause::kPipe);
  CHECK(time[0].share == doctest::Approx(0.7));
  CHECK(time[1].cause == TimeCause::kCpu);
  CHECK(time[1].time_ns == 200);
  CHECK(time[2].cause == TimeCause::kMemory);
  CHECK(time[2].time_ns == 100);
  CHECK(to_string(time[2].cause) == "memory");
}

TEST_CASE("shares are those of processes taken as wholes, where they are known") {
  ProcessExit exit = (*(exit_of({.tool = "x"})).get_if<ProcessExit>());
  exit.program.account.ledger.emplace().lock_ns = 900;
  exit.program.account.ledger->cpu_ns = 270;
  exit.program.account.process_ledger.emplace().running_ns = 90;
  exit.program.account.process_ledger->disk_ns = 10;
  const ReportRow row = make_report(summary_of({exit}), {}).tools.at(0);
  REQUIRE(row.time.size() == 2);
  CHECK(row.time[0].cause == TimeCause::kCpu);
  CHECK(row.time[0].share == doctest::Approx(0.9));
  CHECK(row.time[1].cause == TimeCause::kDisk);
  CHECK(row.concurrency.value() == doctest::Approx(3.0));
  exit.program.account.process_ledger->running_ns = 0;
  CHECK_FALSE(make_report(summary_of({exit}), {}).tools.at(0).concurrency.has_value());
}

TEST_CASE("each cause of waiting is in the shares") {
  Ledger ledger;
  ledger.wall_ns = 14;
  ledger.throttled_ns = 1;
  ledger.cpu_ns = ledger.run_queue_ns = ledger.disk_ns = ledger.pipe_ns = ledger.network_ns = 1;
  ledger.local_socket_ns = 1;
  ledger.lock_ns = ledger.child_ns = ledger.sleep_ns = ledger.poll_ns = ledger.swap_ns = ledger.stopped_ns = 1;
  ledger.other_ns = 1;
  ProcessExit exit = (*(exit_of({.tool = "x"})).get_if<ProcessExit>());
  exit.program.account.ledger = ledger;
  const auto time = make_report(summary_of({exit}), {}).tools.at(0).time;
  CHECK(time.size() == 14);
  for (const TimeShare& each : time) CHECK_FALSE(to_string(each.cause).empty());
}

TEST_CASE("the peak of a tool, as that of a step, is of all its processes together") {
  SessionEnd end;
  end.processes_started = end.processes_ended = 3;
  Summary summary =
      summary_of({exit_of({.pid = 1, .tool = "a", .step = "s", .start_ns = 10, .end_ns = 20, .peak = 350}),
                  exit_of({.pid = 2, .tool = "b", .step = "s", .start_ns = 10, .end_ns = 20, .peak = 450}),
                  exit_of({.pid = 3, .tool = "b", .step = "s", .start_ns = 15, .end_ns = 20, .peak = 50}), end});
  const Report report = make_report(summary, session_of(totals_of(3, 0, 0)));
  for (const ReportRow& tool : report.tools) {
    CHECK(tool.memory_bytes == (tool.name == "a" ? Figure{350} : Figure{450, Bound::kAtLeast}));
    CHECK(tool.memory_at_most_bytes == (tool.name == "a" ? std::nullopt : std::optional<std::uint64_t>(500)));
  }
  CHECK(report.steps.at(0).memory_bytes == Figure{450, Bound::kAtLeast});
  CHECK(report.steps.at(0).memory_at_most_bytes == 850);
}

TEST_CASE("what is asked for and not there is in the certificate") {
  SessionFigures session = session_of({});
  session.families.push_back({Family::kWaits, false, "", Problem{ErrorCode::kOverBudget, 0, "too much", "", ""}});
  session.families.push_back({Family::kSnapshots, true, "", {}});
  const auto missing = make_report(Summary(), session).completeness.missing;
  REQUIRE(missing.size() == 1);
  CHECK(missing[0].family == Family::kWaits);
}

namespace {

SessionEnd end_of(std::uint64_t ended) {
  SessionEnd end;
  end.processes_started = end.processes_ended = ended;
  return end;
}

Event one_in_a_step() {
  return exit_of({.pid = 1, .tool = "a", .step = "s", .start_ns = 100, .end_ns = 300, .cpu_ns = 50, .peak = 9});
}

/// All that a row adds up.
void check_sums(const ReportRow& row, Bound bound) {
  CHECK(row.cpu_ns == Figure{50, bound});
  CHECK(row.read_bytes == Figure{10, bound});
  CHECK(row.written_bytes == Figure{20, bound});
  CHECK(row.failed == Figure{0, bound});
  CHECK(row.processes_bound == bound);
  CHECK(row.wall_bound == bound);
  CHECK(row.cpu_utilization.has_value() == (bound == Bound::kExact));
}

void check_bounds(const Report& report, Bound bound) {
  for (const auto* rows : {&report.tools, &report.steps, &report.tasks}) check_sums(rows->at(0), bound);
  check_sums(report.tree.at(0).row, bound);
  check_sums(report.total, bound);
  CHECK(report.completeness.rows_are_whole == (bound == Bound::kExact));
  CHECK(report.completeness.total_is_whole == (bound == Bound::kExact));
}

}  // namespace

TEST_CASE("rows of a recording that lacks ends of processes are lower bounds") {
  const Report whole = make_report(summary_of({one_in_a_step(), end_of(1)}));
  check_bounds(whole, Bound::kExact);
  CHECK(whole.tools.at(0).memory_bytes == Figure{9});
  const Report report = make_report(summary_of({one_in_a_step(), end_of(3)}));
  CHECK(report.tools.at(0).memory_bytes == Figure{9, Bound::kAtLeast});
  CHECK(report.completeness.ended == 3u);
  CHECK_FALSE(report.completeness.complete);
  check_bounds(report, Bound::kAtLeast);
}

TEST_CASE("rows of a recording that was damaged are lower bounds, even where it has the ends of all processes") {
  const Summary summary = summary_of({one_in_a_step(), end_of(1)});
  const auto with = [&summary](RecordingDamage damage) { return make_report(summary, {.damage = damage}); };
  for (const RecordingDamage& damage : {RecordingDamage{.skipped_bytes = 64}, RecordingDamage{.skipped_events = 1},
                                        RecordingDamage{.missing_frames = 1}, RecordingDamage{.read_error = 5}}) {
    const Report report = with(damage);
    CHECK_FALSE(report.completeness.complete);
    check_bounds(report, Bound::kAtLeast);
  }
  CHECK(with({}).completeness.complete);
  const std::string json = to_json(with({.skipped_bytes = 64, .missing_frames = 2}));
  CHECK(json.find(R"("damage":{"skipped_bytes":64,"skipped_events":0,"missing_frames":2,"read_error":0,)"
                  R"("truncated":false},"rows_are_whole":false)") != std::string::npos);
  CHECK(json.find(R"("cpu_ns":50)") == std::string::npos);
  CHECK(json.find(R"("cpu_ns_at_least":50)") != std::string::npos);
  CHECK(json.find(R"("processes_at_least":1)") != std::string::npos);
  CHECK(json.find(R"("wall_ns_at_least":)") != std::string::npos);
  CHECK(json.find(R"("wall_ns":)") == std::string::npos);
}

TEST_CASE("rows that lack something are together a row that does") {
  ReportRow row;
  row.failed = {0, Bound::kAtLeast};
  row.processes = 1;
  ReportRow more = row;
  more.processes = 2;
  more.processes_bound = more.wall_bound = Bound::kAtLeast;
  more.wall_ns = 5;
  add_row(row, more);
  CHECK(row.failed == Figure{0, Bound::kAtLeast});
  CHECK(row.processes == 3);
  CHECK(row.processes_bound == Bound::kAtLeast);
  CHECK(row.wall_bound == Bound::kAtLeast);
}

TEST_CASE("what was polled in /proc may lack short lives; when those began and ended that were seen is known") {
  SessionEnd end = end_of(1);
  end.missed_at_most = 2;
  const Report report = make_report(summary_of({one_in_a_step(), end}));
  CHECK(report.total.processes_bound == Bound::kAtLeast);
  CHECK(report.total.wall_bound == Bound::kExact);
  CHECK(report.total.cpu_utilization.has_value());
}

TEST_CASE("how many processes ended is not known of a recording without an end, and its sums are lower bounds") {
  const Report report = make_report(summary_of({one_in_a_step()}), {.damage = {.truncated = true}});
  CHECK_FALSE(report.completeness.ended.has_value());
  check_bounds(report, Bound::kAtLeast);
  CHECK(to_json(report).find("\"ended\"") == std::string::npos);
  CHECK(seen_text(report.completeness) == "1 ended process seen; how many ended is not known");
  const Report nothing = make_report(Summary(), {.damage = {.truncated = true}});
  CHECK_FALSE(nothing.total.cpu_ns.has_value());
  CHECK_FALSE(nothing.total.read_bytes.has_value());
}

TEST_CASE("a loss of what no row adds up leaves rows exact") {
  const Report report = make_report(summary_of({one_in_a_step(), Loss{1, "ring_full_file_use", 4}, end_of(1)}));
  CHECK_FALSE(report.completeness.complete);
  check_bounds(report, Bound::kExact);
  check_bounds(make_report(summary_of({one_in_a_step(), Loss{1, "queue_full", 4}, end_of(1)})), Bound::kAtLeast);
}

TEST_CASE("rows of a session that lost ends are lower bounds, and the kernel's total is whole") {
  SessionFigures session = session_of(totals_of(3, 0, 999));
  session.statistics.losses = {{"ring_full_process_exit", 2}};
  const Report report = make_report(summary_of({one_in_a_step()}), session);
  CHECK_FALSE(report.completeness.rows_are_whole);
  CHECK(report.total.cpu_ns == Figure{999});
  CHECK(report.tools.at(0).cpu_ns == Figure{50, Bound::kAtLeast});
  CHECK(report.tree.at(0).row.cpu_ns == Figure{50, Bound::kAtLeast});
}

TEST_CASE("several recordings, of which one has no end, are together as little known as that") {
  const Report whole = make_report(summary_of({one_in_a_step(), end_of(1)}));
  const Report cut = make_report(Summary(), {.damage = {.skipped_bytes = 7, .truncated = true}});
  const Report all = sum_of_reports({whole, cut}, {0, 0});
  CHECK_FALSE(all.completeness.ended.has_value());
  CHECK(all.completeness.damage.skipped_bytes == 7);
  CHECK(all.completeness.damage.truncated);
  CHECK_FALSE(all.completeness.rows_are_whole);
  CHECK(all.total.cpu_ns == Figure{50, Bound::kAtLeast});
  // The other may have had the same tool.
  check_bounds(all, Bound::kAtLeast);
}

TEST_CASE("a recording's report knows what its end says") {
  Summary summary = summary_of({exit_of({.pid = 1}), Loss{1, "ring_full_exit", 2}});
  CHECK_FALSE(make_report(summary).completeness.complete);
  SessionEnd end;
  end.processes_ended = 3;
  end.cost_cpu_ns = 70;
  summary.add(end);
  const Report report = make_report(summary);
  CHECK(report.completeness.tier == Tier::kRecording);
  CHECK_FALSE(report.completeness.complete);
  CHECK(report.completeness.exits_seen == 1);
  CHECK(report.completeness.ended == 3);
  CHECK(report.completeness.losses.at("ring_full_exit") == 2);
  CHECK_FALSE(report.completeness.total_is_whole);
  CHECK(report.cost.cpu_ns == 70);
  CHECK_FALSE(report.cost.snapshots_cpu_ns.has_value());

  Summary whole = summary_of({exit_of({.pid = 1})});
  CHECK_FALSE(make_report(whole).completeness.complete);  // Cut short.
  end.processes_ended = 1;
  whole.add(end);
  CHECK(make_report(whole).completeness.complete);
}

namespace {

Event own_work_of(const char* step, std::uint64_t begin_ns, std::uint64_t end_ns, std::optional<std::uint64_t> cpu_ns,
                  std::optional<std::uint64_t> cpu_at_least_ns = {}) {
  OwnWork work;
  work.process =
      process_of({.pid = 7, .tool = "train.py", .step = step == nullptr ? std::optional<std::string>() : step});
  work.begin_ns = begin_ns;
  work.time_ns = end_ns;
  work.account.cpu_ns = cpu_ns;
  work.account.read_bytes = 5;
  work.account.written_bytes = 6;
  work.account.cpu_at_least_ns = cpu_at_least_ns;
  return work;
}

const ReportRow* row_named(const std::vector<ReportRow>& rows, const std::string& name) {
  for (const ReportRow& row : rows)
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace

TEST_CASE("the session's own process has a row, is no process that ended, and no survivor") {
  Summary summary =
      summary_of({exit_of({.pid = 1, .tool = "a", .step = "s", .start_ns = 100, .end_ns = 300, .cpu_ns = 50})});
  summary.add(sample_at(350, 7, 1000));
  summary.add(own_work_of("s", 100, 400, 30));
  summary.add(own_work_of(nullptr, 100, 500, 5));
  SessionEnd end;
  end.processes_started = 2;
  end.processes_ended = 1;
  summary.add(end);
  const Report report = make_report(summary);
  const ReportRow* own = row_named(report.tools, "train.py (this process)");
  REQUIRE(own != nullptr);
  CHECK(own->processes == 0);
  CHECK(own->cpu_ns == Figure{35, Bound::kExact});
  CHECK(own->read_bytes == Figure{10, Bound::kExact});
  CHECK(own->wall_ns == 400);
  CHECK(report.total.cpu_ns == Figure{85, Bound::kExact});
  CHECK(report.total.lives_ns == 200);
  CHECK(report.total.living == 0);
  CHECK(report.total.processes == 1);
  REQUIRE(report.steps.size() == 1);
  CHECK(report.steps[0].cpu_ns == Figure{80, Bound::kExact});
  CHECK(report.steps[0].wall_ns == 300);
  CHECK(report.survivors.empty());
}

TEST_CASE("the memory of the session's own process counts once, and not in a task in which it did not grow") {
  const auto work_in = [](const char* step, std::optional<std::uint64_t> peak, std::optional<std::uint64_t> held) {
    OwnWork work = *own_work_of(step, 100, 400, 30).get_if<OwnWork>();
    work.account.peak_rss_bytes = peak;
    work.account.peak_rss_at_least_bytes = held;
    return Event(work);
  };
  SessionEnd end;
  end.processes_started = 1;
  const Report grown =
      make_report(summary_of({work_in("s", 1000, {}), work_in("s", 1200, {}), work_in(nullptr, 1200, {}), end}));
  CHECK(grown.steps.at(0).memory_bytes == Figure{1200, Bound::kExact});
  CHECK(row_named(grown.tools, "train.py (this process)")->memory_bytes == Figure{1200, Bound::kExact});
  const Report idle = make_report(summary_of({work_in("s", {}, 700), end}));
  CHECK_FALSE(idle.steps.at(0).memory_bytes.has_value());
  CHECK(row_named(idle.tools, "train.py (this process)")->memory_bytes == Figure{700, Bound::kAtLeast});
}

TEST_CASE("what the session's own process holds is not its tool's") {
  const auto holds = [](std::uint64_t time_ns, std::uint32_t pid, std::uint64_t bytes) {
    ProcessSample sample = sample_at(time_ns, pid, bytes);
    sample.process = process_of({.pid = pid, .tool = "train.py", .step = "s"});
    return sample;
  };
  SessionEnd end;
  end.processes_started = 2;
  end.processes_ended = 1;
  const Event worker =
      exit_of({.pid = 8, .tool = "train.py", .step = "s", .start_ns = 5, .end_ns = 90, .cpu_ns = 1, .peak = 40});
  Summary summary = summary_of({holds(20, 7, 1000), holds(20, 8, 30), own_work_of("s", 100, 200, 30)});
  for (const Event& event : {Event(holds(30, 7, 1000)), Event(holds(30, 8, 35)), worker, Event(end)})
    summary.add(event);
  const Report report = make_report(summary);
  CHECK(row_named(report.tools, "train.py")->memory_bytes == Figure{40, Bound::kExact});
  for (const ReportNode& node : report.tree.at(0).below)
    if (node.row.name == "train.py") CHECK(node.row.memory_bytes == Figure{40, Bound::kExact});
  CHECK(report.steps.at(0).memory_bytes->value == 1035);
}

TEST_CASE("own work of a task that is a lower bound makes no lower bound of what has all parts") {
  const Summary summary = whole_summary_of({own_work_of("s", 100, 400, {}, 30), own_work_of(nullptr, 100, 500, 20)});
  const Report report = make_report(summary);
  CHECK(report.steps.at(0).cpu_ns == Figure{30, Bound::kAtLeast});
  CHECK(report.total.cpu_ns == Figure{50, Bound::kExact});
  CHECK(report.tools.at(0).cpu_ns == Figure{50, Bound::kExact});
}

TEST_CASE("the sum of reports adds what has one name, on one clock") {
  const Report a = make_report(
      whole_summary_of({exit_of({.pid = 1, .tool = "x", .step = "s", .start_ns = 100, .end_ns = 300, .cpu_ns = 50}),
                        exit_of({.pid = 2, .tool = "y", .start_ns = 100, .end_ns = 200, .cpu_ns = 5})}));
  const Report b = make_report(whole_summary_of(
      {exit_of({.pid = 1, .tool = "x", .step = "s", .start_ns = 50, .end_ns = 150, .cpu_ns = {}, .status = 3})}));
  // The second machine's clock began 1000 ns later.
  const Report all = sum_of_reports({a, b}, {5000, 6000});
  const ReportRow* x = row_named(all.tools, "x");
  REQUIRE(x != nullptr);
  CHECK(x->processes == 2);
  CHECK(x->cpu_ns == Figure{50, Bound::kAtLeast});
  CHECK(x->wall_ns == 1150 - 100);
  CHECK(x->lives_ns == 300);
  CHECK(x->failed.value == 1);
  CHECK(row_named(all.tools, "y")->cpu_ns == Figure{5, Bound::kExact});
  REQUIRE(all.steps.size() == 1);
  CHECK(all.steps[0].wall_ns == 1150 - 100);
  CHECK(all.total.processes == 3);
  CHECK(all.failures_seen == 1);
  CHECK(all.completeness.exits_seen == 3);
  CHECK(sum_of_reports({a}, {0}).total.cpu_ns == a.total.cpu_ns);
}

TEST_CASE("the peak of a sum is that of the larger one, by each bound") {
  const auto of_peak = [](std::optional<Figure> peak, std::optional<std::uint64_t> at_most) {
    Report report;
    report.total.memory_bytes = peak;
    report.total.memory_at_most_bytes = at_most;
    return report;
  };
  const auto sum_of = [](const Report& a, const Report& b) { return sum_of_reports({a, b}, {0, 0}).total; };
  const Report bounded = of_peak(Figure{100, Bound::kAtLeast}, 200);
  const ReportRow larger_bound = sum_of(bounded, of_peak(Figure{150, Bound::kExact}, {}));
  CHECK(larger_bound.memory_bytes == Figure{150, Bound::kAtLeast});
  CHECK(larger_bound.memory_at_most_bytes == 200);
  const ReportRow larger_exact = sum_of(bounded, of_peak(Figure{300, Bound::kExact}, {}));
  CHECK(larger_exact.memory_bytes == Figure{300, Bound::kExact});
  CHECK_FALSE(larger_exact.memory_at_most_bytes.has_value());
  const ReportRow unknown = sum_of(bounded, of_peak({}, {}));
  CHECK(unknown.memory_bytes == Figure{100, Bound::kAtLeast});
  CHECK_FALSE(unknown.memory_at_most_bytes.has_value());
  const ReportRow unbounded = sum_of(bounded, of_peak(Figure{50, Bound::kAtLeast}, {}));
  CHECK_FALSE(unbounded.memory_at_most_bytes.has_value());
}

TEST_CASE("an upper bound adds nothing to a lower one") {
  const auto sum_of = [](std::optional<Figure> a, std::optional<Figure> b) {
    Report first;
    Report second;
    first.total.read_bytes = a;
    second.total.read_bytes = b;
    return sum_of_reports({first, second}, {0, 0}).total.read_bytes;
  };
  const Figure exact{3, Bound::kExact};
  const Figure least{5, Bound::kAtLeast};
  const Figure most{100, Bound::kAtMost};
  CHECK(sum_of(least, most) == Figure{5, Bound::kAtLeast});
  CHECK(sum_of(exact, most) == Figure{103, Bound::kAtMost});
  CHECK(sum_of(exact, least) == Figure{8, Bound::kAtLeast});
  CHECK(sum_of(exact, std::nullopt) == Figure{3, Bound::kAtLeast});
  CHECK_FALSE(sum_of(most, std::nullopt).has_value());
  CHECK_FALSE(sum_of(std::nullopt, std::nullopt).has_value());
}

TEST_CASE("samples are added up over tasks, and have the memory of their largest") {
  const auto exit_in = [](std::uint32_t pid, const char* step, const char* sample, std::uint64_t cpu_ns) {
    ProcessExit exit;
    exit.process =
        build::process({.pid = pid, .start_ns = 0, .tool = "t", .context = {.step = step, .sample = sample}});
    exit.exit_code = 0;
    exit.program.program = exit.process->program;
    exit.program.start_ns = 10;
    exit.program.end_ns = 20;
    exit.program.account.cpu_ns = cpu_ns;
    return Event(exit);
  };
  const Summary summary =
      whole_summary_of({sample_at(15, 1, 100, "a", "S1"), sample_at(15, 2, 300, "b", "S1"), exit_in(1, "a", "S1", 5),
                        exit_in(2, "b", "S1", 7), exit_in(3, "a", "S2", 1)});
  const Report report = make_report(summary);
  REQUIRE(report.samples.size() == 2);
  const ReportRow* first = row_named(report.samples, "S1");
  CHECK(first->cpu_ns == Figure{12, Bound::kExact});
  CHECK(first->processes == 2);
  CHECK(first->memory_bytes->value == 300);
}
