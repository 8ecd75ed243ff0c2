// SPDX-License-Identifier: Apache-2.0
/// What is said to stand still.
#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include "insight_story.hpp"

using namespace tracer;
using story::Task;

TEST_CASE("a task stands still from its limit on, until it moves again") {
  Task task;
  task.begin({.pid = 1, .tool = "bash -c", .pace = {.child = 1000}});
  task.begin({.pid = 2, .tool = "sort", .pace = {.pipe_read = 1000}, .parent = 1});
  task.live(60);
  CHECK(task.findings.empty());
  task.live(2);
  REQUIRE(task.last("stalled") != nullptr);
  const Finding& finding = *task.last("stalled");
  CHECK(finding.state == "open");
  CHECK(finding.subject == "task");
  CHECK(finding.tool == "sort");
  CHECK(story::text(finding, "waits_for") == "data from a pipe");
  CHECK(story::value(finding, "still_ns") >= 60 * story::kSecond);
  task.pace(2) = {.running = 500, .pipe_read = 500};
  task.live(1);
  CHECK(task.last("stalled")->state == "closed");
}

TEST_CASE("a task that ends closes what stood still in it") {
  Task task;
  task.begin({.pid = 1, .tool = "sort", .pace = {.lock = 1000}});
  task.live(70);
  task.finish();
  REQUIRE(task.last("stalled") != nullptr);
  CHECK(task.last("stalled")->state == "closed");
}

TEST_CASE("a task in which anything moves does not stand still") {
  const story::Pace movements[] = {{.running = 20, .pipe_read = 980},
                                   {.pipe_read = 1000, .read_bytes = 1},
                                   {.network = 1000, .network_bytes = 1},
                                   {.network = 1000, .switches = 1},
                                   {.disk = 500, .lock = 500, .switches = 1}};
  for (const story::Pace& pace : movements) {
    Task task;
    task.begin({.pid = 1, .tool = "sort", .pace = {.pipe_read = 1000}});
    task.begin({.pid = 2, .tool = "bwa mem", .pace = pace});
    task.live(120);
    CHECK(task.last("stalled") == nullptr);
  }
}

TEST_CASE("what waits by nature, or only for a child, is not said to stand still") {
  for (const char* tool : {"tail", "inotifywait", "sleep", "bash", "srun"}) {
    Task task;
    task.begin({.pid = 1, .tool = "run.sh", .pace = {.child = 1000}});
    task.begin({.pid = 2, .tool = tool, .pace = {.pipe_read = 1000}, .parent = 1});
    task.live(120);
    CAPTURE(tool);
    CHECK(task.findings.empty());
  }
  Task task;
  task.begin({.pid = 1, .tool = "run.sh", .pace = {.child = 1000}});
  task.live(120);
  CHECK(task.findings.empty());
}

TEST_CASE("a sleeper has ten times as long, and is a note") {
  Task task;
  task.begin({.pid = 1, .tool = "retry.py", .pace = {.sleep = 1000}});
  task.live(600);
  CHECK(task.findings.empty());
  task.live(2);
  REQUIRE(task.last("stalled") != nullptr);
  CHECK(task.last("stalled")->severity == "note");
}

TEST_CASE("a snapshot that does not show all that lives says nothing") {
  Task task;
  task.begin({.pid = 1, .tool = "sort", .pace = {.pipe_read = 1000}});
  // Folded: it has no sample.
  task.add(
      ProcessStart{1, build::process({.pid = 2, .start_ns = 1, .tool = "bwa", .context = story::task_context()}), {}});
  task.live(120);
  CHECK(task.findings.empty());
}

TEST_CASE("processes that wait for each other through pipes") {
  Task task;
  task.begin({.pid = 1, .tool = "parent.py", .pace = {.pipe_read = 1000, .reads_from = 2}});
  task.begin({.pid = 2, .tool = "child.py", .pace = {.pipe_read = 1000, .reads_from = 1}, .parent = 1});
  task.live(30);
  CHECK(task.findings.empty());
  task.live(2);
  REQUIRE(task.last("deadlocked_pipe") != nullptr);
  CHECK(task.last("deadlocked_pipe")->subject == "task");
  CHECK(story::value(*task.last("deadlocked_pipe"), "processes") == 2);
  task.live(60);
  CHECK(task.last("stalled") == nullptr);
  task.finish();
  CHECK(task.last("deadlocked_pipe")->state == "closed");
}

TEST_CASE("a pipe whose first stage waits for others is no circle") {
  Task task;
  task.begin({.pid = 1, .tool = "cat", .pace = {.pipe_read = 1000}});
  task.begin({.pid = 2, .tool = "sort", .pace = {.pipe_read = 1000, .reads_from = 1}});
  task.live(50);
  CHECK(task.findings.empty());
}
