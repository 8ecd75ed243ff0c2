// SPDX-License-Identifier: Apache-2.0
/// What is said to stand still.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "history/history_file.hpp"
#include "history/session_history.hpp"
#include "insight_story.hpp"
#include "temp_file.hpp"

using namespace tracer;
using story::Task;

namespace {

/// After how many seconds a task is said to stand still that does from its beginning, where six earlier ones of its
/// kind took so long and computed so much. 0: not within `most` seconds.
std::uint64_t still_after(std::uint64_t wall_s, std::uint64_t cpu_s, const story::Pace& pace, std::uint64_t most) {
  const TempFile place;
  Context context = story::task_context();
  context.pipeline = "demo";
  context.step = "ALIGN";
  {
    internal::HistoryFile file(place.path(), internal::HistoryFile::Access::kWrite);
    std::vector<internal::PastTask> tasks;
    for (int i = 0; i < 6; ++i) {
      internal::PastTask task;
      task.kind = kind_of(context);
      task.run_key = "r";
      task.task_key = std::to_string(i);
      task.end_time_s = static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
              .count());
      task.outcome = internal::Outcome::kSucceeded;
      task.wall_ns = wall_s * story::kSecond;
      task.cpu_ns = cpu_s * story::kSecond;
      tasks.push_back(task);
    }
    REQUIRE(file.add(tasks, {}, std::chrono::seconds(60)));
  }
  auto history = std::make_unique<internal::SessionHistory>(place.path(), internal::HistoryFile::Access::kRead);
  internal::SessionHistory& asked = *history;
  Task task(2, context, std::move(history));
  REQUIRE(asked.settle(std::chrono::seconds(60)));
  task.begin({.pid = 1, .tool = "bash -c", .pace = {.child = 1000}, .context = context});
  task.begin({.pid = 2, .tool = "sort", .pace = pace, .parent = 1, .context = context});
  for (std::uint64_t second = 1; second <= most; ++second) {
    task.live(1);
    if (task.last("stalled") != nullptr) return second;
  }
  return 0;
}

}  // namespace

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

TEST_CASE("a wait for storage names the mount, if it is known, and is asked for once") {
  int asked = 0;
  Task task;
  task.insight().ask_this_host({}, {}, [&asked](std::uint32_t pid, std::uint64_t, const std::vector<std::string>&) {
    ++asked;
    return pid == 2 ? std::optional<internal::AwaitedMount>({"/mnt/x (fuse.sshfs, host:/data)", true}) : std::nullopt;
  });
  task.begin({.pid = 1, .tool = "bash -c", .pace = {.child = 1000}});
  task.begin({.pid = 2, .tool = "md5sum", .pace = {.disk = 1000}, .parent = 1});
  task.live(70);
  REQUIRE(task.last("stalled") != nullptr);
  const Finding& finding = *task.last("stalled");
  CHECK(finding.text.find("md5sum (pid 2) waits for storage: /mnt/x (fuse.sshfs, host:/data)") != std::string::npos);
  CHECK(finding.confidence == "high");
  CHECK(asked == 1);
  task.pace(2) = {.running = 500, .disk = 500};
  task.live(1);
  task.pace(2) = {.lock = 1000, .threads = 2};
  task.live(70);
  CHECK(story::text(*task.last("stalled"), "waits_for") == "a lock");
  CHECK(task.last("stalled")->confidence == "medium");
  CHECK(asked == 1);
}

TEST_CASE("a mount that no descriptor named is named with less confidence") {
  Task task;
  task.insight().ask_this_host({}, {}, [](std::uint32_t, std::uint64_t, const std::vector<std::string>&) {
    return std::optional<internal::AwaitedMount>({"/mnt/x (nfs4)", false});
  });
  task.begin({.pid = 1, .tool = "md5sum", .pace = {.disk = 1000}});
  task.live(70);
  REQUIRE(task.last("stalled") != nullptr);
  CHECK(task.last("stalled")->confidence == "medium");
}

TEST_CASE("of several threads it is not certain for which the process waits") {
  Task task;
  task.begin({.pid = 1, .tool = "sort", .pace = {.pipe_read = 1000, .threads = 2}});
  task.live(70);
  REQUIRE(task.last("stalled") != nullptr);
  CHECK(task.last("stalled")->confidence == "medium");
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

TEST_CASE("a helper that waits by nature hides nothing") {
  Task task;
  task.begin({.pid = 1, .tool = "run.sh", .pace = {.child = 1000}});
  task.begin({.pid = 2, .tool = "tail", .pace = {.poll = 1000}, .parent = 1});
  task.begin({.pid = 3, .tool = "bwa mem", .pace = {.lock = 1000}, .parent = 1});
  task.live(62);
  REQUIRE(task.last("stalled") != nullptr);
  CHECK(task.last("stalled")->tool == "bwa mem");
}

TEST_CASE("who waits in a pipe for what waits by nature waits by nature") {
  Task task;
  task.begin({.pid = 1, .tool = "ssh", .pace = {.network = 1000}});
  task.begin({.pid = 2, .tool = "grep", .pace = {.pipe_read = 1000, .reads_from = 1}});
  task.begin({.pid = 3, .tool = "tee", .pace = {.pipe_read = 1000, .reads_from = 2}});
  task.live(120);
  CHECK(task.findings.empty());
  // Not for it.
  Task other;
  other.begin({.pid = 1, .tool = "tail", .pace = {.poll = 1000}});
  other.begin({.pid = 2, .tool = "hung.py", .pace = {.lock = 1000}});
  other.begin({.pid = 3, .tool = "sort", .pace = {.pipe_read = 1000, .reads_from = 2}});
  other.live(62);
  REQUIRE(other.last("stalled") != nullptr);
  CHECK(other.last("stalled")->tool == "hung.py");
}

TEST_CASE(
    "a wait for whoever asks, as servers have it, is a note in a task that an engine runs, and nothing elsewhere") {
  for (const story::Pace& pace : {story::Pace{.poll = 1000}, story::Pace{}}) {
    Task declared;
    declared.begin({.pid = 1, .tool = "python -m http.server", .pace = pace});
    declared.live(120);
    REQUIRE(declared.last("stalled") != nullptr);
    CHECK(declared.last("stalled")->severity == "note");
    Context recipe = story::task_context();
    recipe.engine = "make";
    Task command(2, recipe);
    command.begin({.pid = 1, .tool = "python -m http.server", .pace = pace, .context = recipe});
    command.live(120);
    CHECK(command.findings.empty());
  }
}

TEST_CASE("a circle is found among many, and a pipe of its own is none") {
  Task task;
  for (std::uint32_t pid = 1; pid <= 3000; ++pid)
    task.begin({.pid = pid, .tool = "stage", .pace = {.pipe_read = 1000, .reads_from = pid == 1 ? 1 : pid - 1}});
  task.live(32);
  CHECK(task.last("deadlocked_pipe") == nullptr);
  task.begin({.pid = 3001, .tool = "stage", .pace = {.pipe_read = 1000, .reads_from = 3002}});
  task.begin({.pid = 3002, .tool = "stage", .pace = {.pipe_read = 1000, .reads_from = 3001}});
  task.live(33);
  CHECK(task.last("deadlocked_pipe") != nullptr);
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

TEST_CASE("how long a task may stand still is judged by its own past, where there is one") {
  const story::Pace pipe = {.pipe_read = 1000};
  const auto around = [](std::uint64_t seconds, std::uint64_t limit) {
    return seconds >= limit && seconds <= limit + 2;
  };
  // Short ones: 20 s at least, and 1.5 times what they take.
  CHECK(around(still_after(5, 5, pipe, 100), 20));
  CHECK(around(still_after(24, 24, pipe, 100), 36));
  CHECK(around(still_after(600, 600, pipe, 100), 60));
  // Those that wait by nature: 1.5 times as long as they do.
  CHECK(around(still_after(100, 20, pipe, 200), 120));
  CHECK(still_after(600, 100, pipe, 200) == 0);
  // Who sleeps needs no 600 s either.
  CHECK(around(still_after(40, 40, {.sleep = 1000}, 200), 60));
}
