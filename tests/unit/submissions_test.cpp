// SPDX-License-Identifier: Apache-2.0
#include "context/submissions.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <tracer/error.hpp>

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
const Caller kCaller{10, 10, 1000};

Submission task(const std::string& id) {
  Submission submission;
  submission.context.engine = "planner";
  submission.context.run_id = "r1";
  submission.context.step = "align";
  submission.context.task_id = id;
  return submission;
}

Submitted checked_task(const std::string& id) { return checked(task(id), kCaller, KeyOrigin{"boot", "session"}, {}); }

std::string states(const std::vector<Event>& events) {
  std::string states;
  for (const Event& event : events) states += event.get_if<TaskSubmit>()->state + ' ';
  return states;
}

struct Table {
  Submissions submissions{std::make_shared<Accounts>()};
  std::vector<Event> events;
};

}  // namespace

TEST_CASE("a submission names its task by engine, run and id") {
  const auto code_of = [](const Submission& submission) {
    try {
      checked(submission, kCaller, {}, {});
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kInternal;
  };
  Submission nameless = task("t1");
  nameless.context.task_id.reset();
  CHECK(code_of(nameless) == ErrorCode::kInvalidArgument);
  Submission without_run = task("t1");
  without_run.context.run_id.reset();
  CHECK(code_of(without_run) == ErrorCode::kInvalidArgument);
  Submission past = task("t1");
  past.expires_after = std::chrono::milliseconds(-1);
  CHECK(code_of(past) == ErrorCode::kInvalidArgument);
  CHECK(checked_task("t1").key() == checked_task("t1").key());
  CHECK(checked_task("t1").key() != checked_task("t2").key());
  CHECK(checked(task("t1"), kCaller, {}, 1000).key() != checked(task("t1"), kCaller, {}, 1001).key());
  CHECK(task_key_of(task("t1").context, {}, 1000) == checked(task("t1"), kCaller, {}, 1000).key());
  CHECK_FALSE(task_key_of(nameless.context, {}, 1000));
  CHECK_THROWS_AS(check({Key{1}, "gone", {}}), Error);
}

TEST_CASE("what was announced and has no process here runs elsewhere") {
  Table table;
  Submitted submitted = checked_task("t1");
  const Key key = submitted.key();
  const std::uint64_t begin_ns = submitted.submitted_ns;
  table.submissions.submit(std::move(submitted), table.events);
  table.submissions.announced(key, "d/work/ab", 1000, begin_ns);
  table.submissions.look(begin_ns + 100 * kSecond, table.events);
  CHECK(states(table.events) == "submitted ");
  // Again, as it begins.
  table.submissions.announced(key, "d/work/ab", 1000, begin_ns + kSecond);
  table.submissions.look(begin_ns + 5 * kSecond, table.events);
  CHECK(states(table.events) == "submitted ");
  table.submissions.look(begin_ns + 12 * kSecond, table.events);
  table.submissions.look(begin_ns + 13 * kSecond, table.events);
  CHECK(states(table.events) == "submitted started_elsewhere ");
  const auto names = table.submissions.withdraw({key, "failed", 3}, 1000, begin_ns + 20 * kSecond, table.events);
  CHECK(states(table.events) == "submitted started_elsewhere ended_elsewhere ");
  REQUIRE(names.size() == 1);
  CHECK(names[0].key == "d/work/ab");
  CHECK(table.events.back().get_if<TaskSubmit>()->exit_code == 3);
  CHECK(table.submissions.empty());
}

TEST_CASE("what becomes of a run is not what becomes of its tasks that have not begun") {
  Table table;
  Submission run = task("");
  run.context.step.reset();
  run.context.task_id.reset();
  Submitted submitted_run = checked(run, kCaller, KeyOrigin{"boot", "session"}, {});
  const Key key = submitted_run.key();
  const std::uint64_t begin_ns = submitted_run.submitted_ns;
  Submitted waits = checked_task("t1");
  const Submitted runs = checked_task("t2");
  table.submissions.submit(std::move(submitted_run), table.events);
  table.submissions.submit(std::move(waits), table.events);
  table.submissions.submit(runs, table.events);
  table.submissions.started(*runs.context, begin_ns + kSecond, table.events);
  table.events.clear();
  table.submissions.withdraw({key, "failed", 1}, 1000, begin_ns + 2 * kSecond, table.events);
  std::string outcomes;
  for (const Event& event : table.events) {
    const auto& submit = *event.get_if<TaskSubmit>();
    outcomes += submit.context->task_id.value_or("run") + ' ' + submit.state + ' ' + *submit.outcome + ';';
  }
  CHECK(outcomes.find("t1 withdrawn aborted;") != std::string::npos);
  CHECK(outcomes.find("t2 withdrawn failed;") != std::string::npos);
  CHECK(outcomes.find("run withdrawn failed;") != std::string::npos);
}

TEST_CASE("what finds no room is reported as expired") {
  Table table;
  const std::string wide(1000, 'x');
  bool expired = false;
  for (int i = 0; i < 45'000 && !expired; ++i) {
    Submission submission = task("t" + std::to_string(i));
    submission.requested.container = wide;
    table.events.clear();
    table.submissions.submit(checked(submission, kCaller, KeyOrigin{"boot", "session"}, {}), table.events);
    expired = states(table.events) == "submitted expired ";
  }
  CHECK(expired);
}

TEST_CASE("a task that has started here is over by its own end") {
  Table table;
  Submitted submitted = checked_task("t1");
  const Context context = *submitted.context;
  const std::uint64_t begin_ns = submitted.submitted_ns;
  table.submissions.submit(std::move(submitted), table.events);
  CHECK(table.submissions.started(context, begin_ns + kSecond, table.events) == begin_ns);
  CHECK(table.submissions.started(context, begin_ns + 2 * kSecond, table.events) == begin_ns);
  table.submissions.withdraw({*context.task_key, "succeeded", 0}, 1000, begin_ns + 3 * kSecond, table.events);
  CHECK(states(table.events) == "submitted started withdrawn ");
  CHECK_FALSE(table.submissions.started(context, begin_ns + 4 * kSecond, table.events));
}

TEST_CASE("what an earlier process has told of a submission is not told again") {
  Table table;
  Submitted waits = checked_task("t1");
  waits.told = {ToldOfSubmitted::State::kQueued, 5};
  waits.submitted_ns = 5;
  Submitted runs = checked_task("t2");
  runs.told = {ToldOfSubmitted::State::kStarted, 7};
  const Context context = *runs.context;
  const Key key = waits.key();
  table.submissions.submit(std::move(waits), table.events);
  table.submissions.submit(std::move(runs), table.events);
  table.submissions.started(context, 9, table.events);
  CHECK(table.events.empty());
  const std::vector<Event> told = table.submissions.told();
  REQUIRE(told.size() == 2);
  for (const Event& event : told) {
    const bool first = event.get_if<TaskSubmit>()->context->task_key == key;
    CHECK(event.get_if<TaskSubmit>()->state == (first ? "submitted" : "started"));
    CHECK(event.time_ns() == (first ? 5 : 7));
  }
  table.submissions.withdraw({key, "aborted", {}}, 1000, 20, table.events);
  CHECK(states(table.events) == "withdrawn ");
  CHECK(table.events[0].get_if<TaskSubmit>()->submitted_ns == 5);
}

TEST_CASE("what waits too long expires, and nobody ends another's") {
  Table table;
  Submission brief = task("t1");
  brief.expires_after = std::chrono::seconds(60);
  Submitted submitted = checked(brief, kCaller, {}, {});
  const Key key = submitted.key();
  const std::uint64_t begin_ns = submitted.submitted_ns;
  table.submissions.submit(std::move(submitted), table.events);
  CHECK(table.submissions.withdraw({key, "failed", {}}, 1001, begin_ns, table.events).empty());
  CHECK_FALSE(table.submissions.empty());
  table.submissions.look(begin_ns + 59 * kSecond, table.events);
  CHECK(states(table.events) == "submitted ");
  table.submissions.look(begin_ns + 60 * kSecond, table.events);
  CHECK(states(table.events) == "submitted expired ");
  CHECK(table.submissions.empty());
}
