// SPDX-License-Identifier: Apache-2.0
/// What is said of tasks that wait for a process that does nothing.
#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include "insight_story.hpp"

using namespace tracer;
using story::Pace;
using story::Task;

namespace {

Task waiting(const std::string& child, const Pace& pace, std::uint64_t seconds = 100,
             const std::string& leader = "run.sh") {
  Task task;
  task.begin({.pid = 1, .tool = leader, .pace = {.child = 1000}});
  task.begin({.pid = 2, .tool = child, .pace = pace, .parent = 1});
  task.live(seconds);
  task.finish();
  return task;
}

bool is_said(const Task& task) { return task.last("idle_child") != nullptr; }

}  // namespace

TEST_CASE("a task that waits for a child that sleeps, or for a lock") {
  const Task slept = waiting("sleep", {.sleep = 1000});
  REQUIRE(is_said(slept));
  const Finding& finding = *slept.last("idle_child");
  CHECK(finding.severity == "note");
  CHECK(finding.subject == "task");
  CHECK(finding.tool == "sleep");
  CHECK(finding.state == "closed");
  CHECK(story::value(finding, "percent") >= 98);
  CHECK(finding.text.starts_with("task ALIGN (S7) waited "));
  CHECK(finding.text.ends_with(" for sleep (pid 2), which only slept"));
  const Task locked = waiting("flock", {.lock = 1000});
  REQUIRE(is_said(locked));
  CHECK(story::text(*locked.last("idle_child"), "did") == "waited for a lock");
}

TEST_CASE("below its limits nothing is said") {
  CHECK_FALSE(is_said(waiting("sleep", {.sleep = 1000}, 59)));
  CHECK(is_said(waiting("sleep", {.sleep = 1000}, 61)));
  CHECK_FALSE(is_said(waiting("wait.py", {.running = 20, .sleep = 980})));
  CHECK_FALSE(is_said(waiting("wait.py", {.sleep = 1000, .switches = 1})));
  CHECK_FALSE(is_said(waiting("wait.py", {.sleep = 1000, .read_bytes = 70'000})));
  CHECK_FALSE(is_said(waiting("wait.py", {.network = 1000})));
  CHECK_FALSE(is_said(waiting("wait.py", {.poll = 1000})));
}

TEST_CASE("half of its time must be spent so, and not by what computes beside it") {
  Task task;
  task.begin({.pid = 1, .tool = "run.sh", .pace = {.child = 1000}});
  task.begin({.pid = 2, .tool = "sleep", .pace = {.sleep = 1000}, .parent = 1});
  task.begin({.pid = 3, .tool = "bwa mem", .pace = {.running = 1000}, .parent = 1});
  task.live(100);
  task.finish();
  CHECK_FALSE(is_said(task));
}

TEST_CASE("servers, shells, and what waits by nature are no finding") {
  for (const char* tool : {"tail", "ssh", "redis-server", "vim", "srun", "nextflow run"}) {
    CAPTURE(tool);
    CHECK_FALSE(is_said(waiting(tool, {.sleep = 1000})));
  }
  CHECK_FALSE(is_said(waiting("sleep", {.sleep = 1000}, 100, "bash")));
  CHECK(is_said(waiting("sleep", {.sleep = 1000}, 100, "bash -c")));
}

TEST_CASE("a loop that sleeps again and again polls") {
  Task task;
  task.begin({.pid = 1, .tool = "wait.sh", .pace = {.child = 1000}});
  for (std::uint32_t pid = 2; pid < 12; ++pid) {
    task.begin({.pid = pid, .tool = "sleep", .pace = {.sleep = 1000}, .parent = 1});
    task.live(20);
    task.end(pid);
  }
  task.finish();
  CHECK_FALSE(is_said(task));
}

TEST_CASE("one that sleeps by itself has no child to wait for") {
  Task task;
  task.begin({.pid = 1, .tool = "sleep", .pace = {.sleep = 1000}});
  task.live(100);
  task.finish();
  CHECK_FALSE(is_said(task));
}
