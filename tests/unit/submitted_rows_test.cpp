// SPDX-License-Identifier: Apache-2.0
/// Tasks that were submitted, in reports and in the state.
#include <tracer/report.hpp>
#include <tracer/state.hpp>
#include <tracer/summary.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "builders.hpp"
#include "report/state_tables.hpp"
#include "show/report_table.hpp"
#include "show/report_text.hpp"

namespace {

using namespace tracer;
using Json = nlohmann::json;

constexpr std::uint64_t kSecond = 1'000'000'000;

Context task_of(const std::string& id, std::uint64_t key) {
  Context context;
  context.engine = "planner";
  context.run_id = "r1";
  context.run = "first";
  context.step = "align";
  context.task = "align (" + id + ")";
  context.task_id = id;
  context.run_key = Key{1};
  context.task_key = Key{key};
  return context;
}

/// Of a run with one task that ran and tasks that did not.
class Scene {
 public:
  void say(const Context& context, const char* state, std::uint64_t at_s, std::optional<std::string> outcome = {}) {
    TaskSubmit submit;
    submit.time_ns = at_s * kSecond;
    submit.context = std::make_shared<const Context>(context);
    submit.state = state;
    submit.submitted_ns = kSecond;
    submit.outcome = std::move(outcome);
    submit.requested.millicpus = 2000;
    add(submit);
  }
  void start(const Context& context, std::uint64_t at_s, bool submitted = true) {
    TaskStart start;
    start.time_ns = start.start_ns = at_s * kSecond;
    start.context = std::make_shared<const Context>(context);
    start.pid = 7;
    if (submitted) start.submitted_ns = kSecond;
    add(start);
    if (submitted) say(context, "started", at_s);
  }
  void finish(const Context& context, std::uint64_t from_s, std::uint64_t to_s) {
    ProcessExit exit = build::exit(7, to_s * kSecond);
    exit.process = build::process({.pid = 7, .start_ns = from_s * kSecond, .context = context});
    exit.start_ns = exit.begin_ns = from_s * kSecond;
    exit.end_ns = to_s * kSecond;
    exit.account.cpu_ns = kSecond;
    exit.account.peak_rss_bytes = 1000;
    exit.program = {exit.start_ns, exit.end_ns, exit.process->program, exit.account};
    add(exit);
    TaskFinish finish;
    finish.context = exit.process->context;
    finish.begin_ns = finish.start_ns = exit.start_ns;
    finish.time_ns = finish.end_ns = exit.end_ns;
    finish.pid = 7;
    finish.exit_code = 0;
    add(finish);
  }
  void end(std::uint64_t processes = 1) {
    RunFinish run;
    Context context = task_of("", 0);
    context.step.reset(), context.task.reset(), context.task_id.reset(), context.task_key.reset();
    run.context = std::make_shared<const Context>(context);
    run.time_ns = run.end_ns = 30 * kSecond;
    run.exit_code = 0;
    add(run);
    SessionEnd end;
    end.time_ns = 31 * kSecond;
    end.processes_started = end.processes_ended = processes;
    add(end);
  }
  void add(const Event& event) {
    summary_.add(event);
    state_.add(event);
  }
  Report report() const { return make_report(summary_); }
  Json report_json() const { return Json::parse(to_json(report())); }
  Json state_json() const { return Json::parse(state_.json({}, std::nullopt)); }

 private:
  Summary summary_;
  internal::StateTables state_{"s", std::make_shared<internal::Accounts>(), true};
};

void tell_all(Scene& scene) {
  for (std::uint64_t key = 2; key < 9; ++key) scene.say(task_of("t" + std::to_string(key), key), "submitted", 1);
  scene.start(task_of("t2", 2), 5);
  scene.finish(task_of("t2", 2), 5, 7);
  scene.say(task_of("t2", 2), "withdrawn", 8, "succeeded");
  scene.say(task_of("t4", 4), "withdrawn", 8, "cached");
  scene.say(task_of("t5", 5), "started_elsewhere", 11);
  scene.say(task_of("t6", 6), "started_elsewhere", 12);
  scene.say(task_of("t6", 6), "ended_elsewhere", 20, "succeeded");
  scene.say(task_of("t7", 7), "expired", 21);
  scene.say(task_of("t8", 8), "withdrawn", 22, "aborted");
  scene.end();
}

Json row_of(const Json& rows, const std::string& name) {
  for (const Json& row : rows)
    if (row["name"] == name) return row;
  return {};
}

}  // namespace

TEST_CASE("a report has submitted tasks as the state has them") {
  Scene scene;
  tell_all(scene);
  const Json report = scene.report_json();
  const Json state = scene.state_json();
  REQUIRE(report["tasks"].size() == 7);
  REQUIRE(state["tasks"].size() == 7);
  const char* const kFigures[] = {"queued",       "elsewhere", "withdrawn", "expired",       "queued_ns",
                                  "submitted_ns", "outcome",   "processes", "cpu_ns",        "memory_bytes",
                                  "requested",    "tasks",     "wall_ns",   "first_start_ns"};
  for (const char* table : {"tasks", "steps", "runs"})
    for (const Json& row : report[table]) {
      const Json other = row_of(state[table], row["name"]);
      for (const char* figure : kFigures)
        CHECK_MESSAGE(row.value(figure, Json()) == other.value(figure, Json()), row["name"], " ", figure);
      if (row.contains("state")) CHECK(row["state"] == other["state"]);
    }
  const auto told = [&](const char* id) {
    const Json row = row_of(report["tasks"], "align (" + std::string(id) + ")");
    return row.value("state", "") + '/' + row.value("outcome", "");
  };
  CHECK(told("t2") == "/succeeded");
  CHECK(told("t3") == "queued/");
  CHECK(told("t4") == "withdrawn/cached");
  CHECK(told("t5") == "elsewhere/");
  CHECK(told("t6") == "finished/succeeded");
  CHECK(told("t7") == "expired/");
  CHECK(told("t8") == "withdrawn/aborted");
  CHECK(row_of(report["tasks"], "align (t2)")["queued_ns"] == 4 * kSecond);
  // What ran elsewhere used what nobody saw.
  CHECK(!row_of(report["tasks"], "align (t6)").contains("cpu_ns"));
  for (const Json& row : {report["steps"][0], report["runs"][0], report["totals"]}) {
    CHECK(row["queued"] == 1);
    CHECK(row["elsewhere"] == 2);
    CHECK(row["withdrawn"] == 2);
    CHECK(row["expired"] == 1);
    // 4 s of the one that ran here; 10 and 11 s of those elsewhere.
    CHECK(row["queued_ns"] == 25 * kSecond);
  }
  CHECK(report["steps"][0]["tasks"] == 7);
  // They take nothing from what is known of those that ran.
  CHECK(report["steps"][0]["memory_bytes"] == 1000);
  CHECK(report["steps"][0]["cpu_ns"] == kSecond);
}

TEST_CASE("the verdict, a note and the rows say what waits") {
  Scene scene;
  tell_all(scene);
  const Report report = scene.report();
  CHECK(report.verdict ==
        "first succeeded (status 0) in 30.0 s: 7 tasks, 2 ok, 1 queued, 1 elsewhere, 1 cached, 1 aborted, 1 expired");
  CHECK(internal::format_notes(report, std::nullopt).queue ==
        "\nsubmitted tasks: 1 queued, 2 elsewhere, 2 withdrawn, 1 expired; those that started waited 25.0 s in all\n");
  const std::string tasks = internal::format_tables(report, internal::By::kTask, std::nullopt);
  for (const char* what : {"queued", "elsewhere", "cached", "succeeded elsewhere", "expired", "aborted"})
    CHECK(tasks.find(what) != std::string::npos);
}

TEST_CASE("a task that becomes the submitted one later has one row") {
  Scene scene;
  const Context after = task_of("t2", 2);
  Context before = after;
  before.task_id = "7-3e8";
  before.task_key = Key{99};
  scene.say(after, "submitted", 1);
  scene.start(before, 5, false);
  ContextChange change;
  change.time_ns = 6 * kSecond;
  change.before = std::make_shared<const Context>(before);
  change.after = std::make_shared<const Context>(after);
  change.old_task_key = before.task_key;
  scene.add(change);
  scene.say(after, "started", 6);
  scene.finish(after, 5, 7);
  scene.end();
  for (const Json& all : {scene.report_json(), scene.state_json()}) {
    REQUIRE(all["tasks"].size() == 1);
    CHECK(all["tasks"][0]["processes"] == 1);
    CHECK(all["tasks"][0]["queued_ns"] == 5 * kSecond);
    CHECK(!all["tasks"][0].contains("queued"));
    CHECK(all["tasks"][0]["requested"]["millicpus"] == 2000);
  }
}

TEST_CASE("a task that waits here and runs on another machine has run") {
  Scene here;
  here.say(task_of("t2", 2), "submitted", 1);
  here.say(task_of("t2", 2), "started_elsewhere", 12);
  here.end(0);
  Scene there;
  there.start(task_of("t2", 2), 5, false);
  there.finish(task_of("t2", 2), 5, 7);
  there.end();
  for (const bool first : {false, true}) {
    const Scene& a = first ? here : there;
    const Scene& b = first ? there : here;
    const Json sum = Json::parse(to_json(sum_of_reports({a.report(), b.report()}, {0, 0})));
    REQUIRE(sum["tasks"].size() == 1);
    CHECK(sum["tasks"][0]["cpu_ns"] == kSecond);
    CHECK(!sum["tasks"][0].contains("state"));
    CHECK(!sum["runs"][0].contains("elsewhere"));
    CHECK(sum["steps"][0]["memory_bytes"] == 1000);
  }
}
