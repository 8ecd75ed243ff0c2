// SPDX-License-Identifier: Apache-2.0
/// What a finding says of other programs and tasks: only those of its own owner have names.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "context/same_owner.hpp"
#include "insight_story.hpp"

using namespace tracer;
using story::Task;

namespace {

constexpr std::uint32_t kAlice = 1000;
constexpr std::uint32_t kBob = 1001;
const std::string kAnother = "another user's program";

Context task_of(std::uint32_t owner, std::uint64_t key = 7) {
  Context context = story::task_context(key);
  context.owner_uid = owner;
  return context;
}

/// A process keeps the only disk busy while one of Alice's tasks waits for it.
Finding contention(const Context& heaviest, std::optional<std::uint32_t> uid, bool is_known = true) {
  Task task(2, task_of(kAlice));
  task.begin({.pid = 1, .tool = "sort", .pace = {.running = 500, .disk = 500}, .context = task_of(kAlice)});
  if (is_known)
    task.add(ProcessStart{1, build::process({.pid = 9, .uid = uid, .tool = "secret.py", .context = heaviest}), {}});
  for (int i = 0; i < 20; ++i) {
    DeviceSample device;
    device.time_ns = task.now_ns() + story::kSecond;
    device.since_ns = task.now_ns();
    device.read_bytes = 1000;
    device.busy_ns = 900'000'000;
    device.heaviest_pid = 9;
    device.heaviest_tool = "secret.py";
    device.heaviest_bytes = 800;
    device.context = std::make_shared<const Context>(heaviest);
    task.add(device);
    task.live(1);
  }
  REQUIRE(task.last("disk_contention") != nullptr);
  return *task.last("disk_contention");
}

}  // namespace

TEST_CASE("one owner: who runs a process, and in whose task") {
  const internal::UserIds ids({{kAlice, 200'000, 10}, {kBob, 300'000, 10}});
  const auto same = [&](std::uint32_t owner, std::optional<std::uint32_t> uid, std::optional<std::uint32_t> in) {
    return internal::same_owner(owner, Context{.owner_uid = in}, uid, ids);
  };
  CHECK(same(kAlice, kAlice, {}));
  CHECK(same(kAlice, 200'003, {}));
  CHECK(same(kAlice, 0, kAlice));
  CHECK(same(kAlice, std::nullopt, kAlice));
  CHECK(same(0, 0, {}));
  CHECK(same(0, kAlice, 0));
  CHECK_FALSE(same(kAlice, kBob, {}));
  CHECK_FALSE(same(kAlice, 300'003, {}));
  CHECK_FALSE(same(kAlice, kBob, kAlice));
  CHECK_FALSE(same(kAlice, 0, {}));
  CHECK_FALSE(same(kAlice, 0, kBob));
  CHECK_FALSE(same(kAlice, std::nullopt, {}));
  CHECK_FALSE(same(0, kAlice, {}));
  CHECK_FALSE(same(0, kAlice, kAlice));
}

TEST_CASE("who keeps the disk busy has a name and a task only where it is of the same owner") {
  const Finding own = contention(task_of(kAlice, 8), kAlice);
  CHECK(story::text(own, "neighbor") == "secret.py");
  CHECK(story::text(own, "neighbor_task") == "ALIGN (S8)");
  const Finding in_no_task = contention({}, kAlice);
  CHECK(story::text(in_no_task, "neighbor") == "secret.py");
  // It was folded, or has ended long ago.
  CHECK(story::text(contention(task_of(kAlice, 8), {}, false), "neighbor") == "secret.py");

  const std::vector<Finding> of_others = {contention(task_of(kBob, 8), kBob), contention({}, kBob),
                                          contention({}, {}, false), contention(task_of(0, 8), 0),
                                          contention(task_of(kBob, 8), {}, false)};
  for (const Finding& each : of_others) {
    CHECK(story::text(each, "neighbor") == kAnother);
    CHECK(each.text.find("secret") == std::string::npos);
    CHECK(each.text.find("S8") == std::string::npos);
    CHECK(each.evidence.size() == of_others[0].evidence.size());
  }
  // As of `sudo -u bob` in another task of hers.
  const Finding inside = contention(task_of(kAlice, 8), kBob);
  CHECK(story::text(inside, "neighbor") == kAnother);
  CHECK(story::text(inside, "neighbor_task") == "ALIGN (S8)");
}

TEST_CASE("what two users run in no task keeps a disk busy for itself") {
  Task task(2, task_of(kAlice));
  task.begin({.pid = 1, .tool = "sort", .pace = {.disk = 1000}, .context = task_of(kAlice)});
  for (int i = 0; i < 20; ++i) {
    const bool alices = i % 4 == 3;
    const std::uint32_t pid = alices ? 8 : 9;
    task.add(ProcessStart{
        1, build::process({.pid = pid, .uid = alices ? kAlice : kBob, .tool = alices ? "own.py" : "secret.py"}), {}});
    DeviceSample device;
    device.time_ns = task.now_ns() + story::kSecond;
    device.since_ns = task.now_ns();
    device.read_bytes = 1000;
    device.busy_ns = 900'000'000;
    device.heaviest_pid = pid;
    device.heaviest_tool = alices ? "own.py" : "secret.py";
    device.heaviest_bytes = 800;
    task.add(device);
    task.live(1);
  }
  REQUIRE(task.last("disk_contention") != nullptr);
  CHECK(story::text(*task.last("disk_contention"), "neighbor") == kAnother);
}

TEST_CASE("what another user runs in a task is not named: pipes, circles, short lives, files") {
  for (const std::uint32_t uid : {kAlice, kBob}) {
    CAPTURE(uid);
    const bool is_own = uid == kAlice;
    const auto context = task_of(kAlice);
    {
      Task task(2, context);
      task.begin(
          {.pid = 1, .tool = "cat", .pace = {.pipe_read = 1000, .reads_from = 2}, .context = context, .uid = kAlice});
      task.begin({.pid = 2,
                  .tool = "secret.py",
                  .pace = {.pipe_read = 1000, .reads_from = 1},
                  .context = context,
                  .uid = uid});
      task.live(40);
      REQUIRE(task.last("deadlocked_pipe") != nullptr);
      CHECK(story::text(*task.last("deadlocked_pipe"), "programs") == "cat, " + (is_own ? "secret.py" : kAnother));
    }
    {
      Task task(2, context);
      task.begin({.pid = 1,
                  .tool = "sort",
                  .pace = {.pipe_read = 1000, .read_bytes = 1 << 20, .reads_from = 2},
                  .context = context,
                  .uid = kAlice});
      task.begin({.pid = 2,
                  .tool = "secret.py",
                  .pace = {.running = 1000, .read_bytes = 1 << 20, .writes_to = 1},
                  .context = context,
                  .uid = uid});
      task.live(30);
      task.finish();
      if (const Finding* found = task.last("pipe_bottleneck"))
        CHECK((found->text.find("secret.py") != std::string::npos) == is_own);
      CHECK(task.last("pipe_bottleneck") != nullptr);
    }
    {
      Task task(2, context);
      task.begin({.pid = 1, .tool = "sort", .pace = {.running = 1000}, .context = context, .uid = kAlice});
      task.live(12);
      for (int i = 0; i < 3; ++i) {
        FileUse use;
        use.time_ns = task.now_ns();
        use.process = build::process({.pid = 2, .start_ns = 1, .uid = uid, .tool = "secret.py", .context = context});
        use.path = "/home/bob/secret";
        use.device = 1;
        use.inode = 2;
        use.opens = 1;
        use.read_bytes = use.size_bytes = 500'000'000;
        task.add(use);
      }
      task.finish();
      CHECK((task.last("read_again") != nullptr) == is_own);
    }
  }
}

TEST_CASE("tasks of two users that are called alike hold only their own runs") {
  for (const std::uint32_t inner_owner : {kAlice, kBob}) {
    internal::Book book;
    internal::TaskLedgers ledgers(book, 4);
    const auto lived = [&](std::uint32_t pid, Context context) {
      const auto process = build::process({.pid = pid, .start_ns = 1, .context = std::move(context)});
      ledgers.saw(ProcessStart{1, process, {}});
      ProcessExit exit;
      exit.process = process;
      exit.start_ns = exit.begin_ns = 1;
      exit.end_ns = 10 * story::kSecond;
      exit.account.process_ledger.emplace().life_ns = exit.account.process_ledger->running_ns = exit.end_ns - 1;
      ledgers.saw(exit);
    };
    const auto outer = std::make_shared<const Context>(task_of(kAlice));
    TaskStart start;
    start.context = outer;
    start.start_ns = 1;
    REQUIRE(book.saw(start));
    ledgers.began(start);
    lived(1, *outer);
    Context inner;
    inner.run_id = "inner";
    inner.run_key = Key{50};
    inner.within = "r1/t7";
    inner.owner_uid = inner_owner;
    lived(2, inner);
    TaskFinish finish;
    finish.context = outer;
    finish.begin_ns = 1;
    finish.end_ns = 10 * story::kSecond;
    // Both processes are in the task only where the run in it is of the same owner.
    finish.totals.processes = inner_owner == kAlice ? 2 : 1;
    ledgers.finish(finish);
    CHECK(finish.task_ledger.has_value());
  }
}
