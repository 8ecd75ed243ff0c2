// SPDX-License-Identifier: Apache-2.0
#include "report/subjects.hpp"

#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "builders.hpp"
#include "show/why_text.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

Context task_context(const std::string& sample, std::uint64_t key) {
  Context context{.run = "r", .step = "align", .sample = sample, .task_id = "id" + sample, .engine = "tracerd"};
  context.run_key = Key{100};
  context.task_key = Key{key};
  return context;
}

Event exit_in_task(const Context& context, std::uint32_t pid, std::uint64_t begin, std::uint64_t end,
                   std::int32_t status) {
  ProcessExit exit;
  exit.process =
      build::process({.pid = pid, .start_ns = begin, .tool = "tool" + std::to_string(pid), .context = context});
  exit.time_ns = exit.end_ns = end;
  exit.start_ns = exit.begin_ns = begin;
  exit.exit_code = status;
  exit.account.cpu_ns = end - begin;
  exit.program = {begin, end, exit.process->program, exit.account, {}};
  return exit;
}

Event finish_of(const Context& context, std::uint64_t begin, std::uint64_t end, std::uint64_t cpu_ns,
                std::vector<FailedProcess> failures = {}) {
  TaskFinish finish;
  finish.context = std::make_shared<const Context>(context);
  finish.time_ns = finish.end_ns = end;
  finish.begin_ns = begin;
  finish.exit_code = 0;
  finish.totals.processes = 2;
  finish.totals.failed = failures.size();
  finish.totals.failures = std::move(failures);
  finish.totals.account.cpu_ns = cpu_ns;
  finish.requested.millicpus = 8000;
  finish.task_ledger = TaskLedger{.computing_ns = (end - begin) / 4,
                                  .disk_ns = end - begin - (end - begin) / 4,
                                  .wall_ns = end - begin,
                                  .computing_at_most_ns = (end - begin) / 4};
  return finish;
}

std::unique_ptr<Subjects> subjects_for(const std::string& asked) {
  auto made = std::make_unique<Subjects>(asked);
  Subjects& subjects = *made;
  const Context one = task_context("S1", 1);
  const Context two = task_context("S2", 2);
  const Context late = task_context("S3", 3);
  Finding finding;
  finding.time_ns = finding.first_ns = 300;
  finding.finding_key = Key{9};
  finding.code = "silent_failure", finding.severity = "error", finding.text = "something failed";
  finding.context = std::make_shared<const Context>(one);
  finding.pid = 12, finding.start_ns = 100;
  for (const Event& event :
       {exit_in_task(one, 11, 100, 200, 0), exit_in_task(one, 12, 100, 300, 3), exit_in_task(one, 13, 100, 310, 3),
        exit_in_task(two, 21, 150, 400, 0), exit_in_task(late, 31, 900, 950, 0), Event(finding),
        finish_of(one, 100, 400, 510, {{12, "tool12", 3, {}}}), finish_of(two, 150, 400, 250),
        finish_of(late, 900, 950, 50)})
    subjects.add(event);
  subjects.finish();
  return made;
}

}  // namespace

TEST_CASE("subjects: a task is found by its name, sample, id, key and a part of its name that no other has") {
  for (const char* asked : {"S1", "align S1", "idS1", "0000000000000001"}) {
    CAPTURE(asked);
    const auto made = subjects_for(asked);
    const Subjects& subjects = *made;
    const auto found = subjects.find(asked);
    REQUIRE(found.size() == 1);
    REQUIRE(found[0].scope != nullptr);
    CHECK(found[0].scope->context->sample == "S1");
  }
  CHECK(subjects_for("align")->find("align").size() == 3);
  CHECK(subjects_for("S")->find("S").size() == 3);
  CHECK(subjects_for("nothing")->find("nothing").empty());
}

TEST_CASE("subjects: a tool's processes are found, most CPU first, where nothing else is called so") {
  const auto made = subjects_for("tool11");
  REQUIRE(made->find("tool11").size() == 1);
  CHECK(made->find("tool11")[0].process->process->pid == 11);
  auto sub = std::make_unique<Subjects>("samtools");
  for (const auto& [tool, pid, took] :
       {std::tuple("samtools sort", 5u, 100u), {"samtools", 6u, 300u}, {"samtools2", 7u, 900u}}) {
    ProcessExit exit;
    exit.process = build::process({.pid = pid, .start_ns = 1, .tool = tool});
    exit.time_ns = exit.end_ns = 1 + took;
    exit.begin_ns = 1;
    exit.account.cpu_ns = took;
    sub->add(exit);
  }
  sub->finish();
  const auto found = sub->find("samtools");
  REQUIRE(found.size() == 2);
  CHECK(found[0].process->process->pid == 6);
  CHECK(list_of_subjects(found).find("\n  pid:5  process samtools sort, took 0 us, CPU 0 us: ") != std::string::npos);
}

TEST_CASE("subjects: a pid is a process with its own findings") {
  for (const char* asked : {"12", "pid:12"}) {
    const auto made = subjects_for(asked);
    const Subjects& subjects = *made;
    const auto found = subjects.find(asked);
    REQUIRE(found.size() == 1);
    REQUIRE(found[0].process != nullptr);
    CHECK(found[0].process->process->pid == 12);
    CHECK(found[0].process->exit_code == 3);
    CHECK(subjects.findings_of(found[0]).size() == 1);
    CHECK(subjects.neighbors_of(found[0]).size() == 1);
  }
  CHECK(subjects_for("99")->find("99").empty());
}

TEST_CASE("subjects: a task has its processes by CPU, the failures that began in them, and who ran beside it") {
  const auto made = subjects_for("S1");
  const Subjects& subjects = *made;
  const Subject subject = subjects.find("S1").at(0);
  REQUIRE(subject.scope->largest.size() == 3);
  CHECK(subject.scope->largest[0].process->pid == 13);
  // What passed on a failure is none of its own.
  REQUIRE(subject.scope->failures.size() == 1);
  CHECK(subject.scope->failures[0].process->pid == 12);
  CHECK_FALSE(subject.scope->largest[0].failed);
  const auto neighbors = subjects.neighbors_of(subject);
  REQUIRE(neighbors.size() == 1);
  CHECK(neighbors[0].scope->context->sample == "S2");
  CHECK(neighbors[0].together_ns == 250);
  CHECK(row_of_subject(subject).bound_by == "disk");
  CHECK(*row_of_subject(subject).bound_share == doctest::Approx(0.75));
  const std::string text = why_text(subjects, subject, {});
  for (const char* part :
       {"task align S1", "used 6.8 of 8 requested CPUs while it computed",
        "mostly waited for storage: 75 % of its time", "error: something failed", "at the same time", "align S2"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
  CHECK(text.find("S3") == std::string::npos);
  const std::string json = tracer::internal::to_json(subjects, subject);
  CHECK(json.find(R"("bound_by":"disk","bound_share":0.75,"parallelism":6.8)") != std::string::npos);
}

TEST_CASE("subjects: a key that changes takes what was known with it") {
  Subjects subjects("S1");
  const Context before = task_context("S1", 1);
  Context after = before;
  after.task_key = Key{77};
  subjects.add(exit_in_task(before, 11, 100, 200, 0));
  ContextChange change;
  change.before = std::make_shared<const Context>(before);
  change.after = std::make_shared<const Context>(after);
  change.old_task_key = before.task_key;
  subjects.add(change);
  subjects.add(exit_in_task(after, 12, 150, 300, 0));
  subjects.finish();
  const auto found = subjects.find("S1");
  REQUIRE(found.size() == 1);
  CHECK(found[0].scope->largest.size() == 2);
  CHECK(found[0].scope->context->task_key == Key{77});
  CHECK_FALSE(found[0].scope->finished);
}
