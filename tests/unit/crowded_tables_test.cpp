// SPDX-License-Identifier: Apache-2.0
/// One user fills a table to its limit. What is said of another user's tasks is the same as without that.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "correlate/joins/disk_waits.hpp"
#include "insight/output_readers.hpp"
#include "insight_story.hpp"

using namespace tracer;
using namespace tracer::internal;
using story::Task;

namespace {

constexpr std::uint32_t kAlice = 1000;
constexpr std::uint32_t kBob = 1001;
/// More than any table of runs and tasks has room for.
constexpr std::uint32_t kCrowd = 33'000;
constexpr std::uint32_t kFirstOfCrowd = 100'000;
constexpr std::uint64_t kRound_ns = 12 * story::kSecond;

Context task_of(std::uint32_t owner, std::uint64_t key) {
  Context context = story::task_context(key);
  context.owner_uid = owner;
  return context;
}

TaskStart start_of(const Context& context, std::uint32_t pid) {
  TaskStart start;
  start.time_ns = start.start_ns = 1;
  start.context = std::make_shared<const Context>(context);
  start.pid = pid;
  return start;
}

ProcessExit exit_of(std::uint32_t pid, std::uint32_t uid, std::uint64_t end_ns) {
  ProcessExit exit = build::exit(pid, end_ns);
  exit.process = build::process({.pid = pid, .uid = uid, .tool = "sort"});
  exit.begin_ns = 1;
  return exit;
}

/// A task of Bob's for each of so many processes, which live on.
void add_crowd(Task& task) {
  for (std::uint32_t pid = kFirstOfCrowd; pid < kFirstOfCrowd + kCrowd; ++pid) {
    const Context context = task_of(kBob, pid);
    task.add(start_of(context, pid));
    ProcessSample sample;
    sample.time_ns = 1;
    sample.process = build::process({.pid = pid, .uid = kBob, .tool = "crowd", .context = context});
    sample.account.ledger.emplace();
    sample.account.process_ledger.emplace();
    sample.account.network_received_bytes = 1;
    task.add(ProcessStart{1, sample.process, {}});
    task.add(sample);
  }
}

DeviceSample busy_disk(const Task& task) {
  DeviceSample device;
  device.since_ns = task.now_ns();
  device.time_ns = task.now_ns() + kRound_ns;
  device.read_bytes = 1000;
  device.busy_ns = kRound_ns;
  device.heaviest_pid = kFirstOfCrowd;
  device.heaviest_tool = "crowd";
  device.heaviest_bytes = 900;
  device.context = std::make_shared<const Context>(task_of(kBob, kFirstOfCrowd));
  return device;
}

/// What one of Alice's tasks does, and what is said of it.
struct Act {
  std::string_view code;
  std::vector<story::Player> players;
};

std::vector<Act> acts() {
  const std::uint64_t megabytes = 120'000'000;
  return {
      {"disk_contention", {{.pid = 10, .tool = "bwa mem", .pace = {.running = 200, .disk = 800}}}},
      {"network_wait", {{.pid = 20, .tool = "blast", .pace = {.running = 500, .network = 500}}}},
      {"idle_child",
       {{.pid = 30, .tool = "run.sh", .pace = {.child = 1000}},
        {.pid = 31, .tool = "sleep", .pace = {.sleep = 1000}, .parent = 30}}},
      {"pipe_bottleneck",
       {{.pid = 40,
         .tool = "zcat",
         .pace = {.running = 100, .pipe_write = 900, .read_bytes = megabytes, .writes_to = 41}},
        {.pid = 41, .tool = "slow.py", .pace = {.running = 1000, .read_bytes = megabytes}},
        {.pid = 42,
         .tool = "gzip",
         .pace = {.running = 200, .pipe_read = 800, .read_bytes = megabytes, .reads_from = 41}}}},
      {"deadlocked_pipe",
       {{.pid = 50, .tool = "parent.py", .pace = {.pipe_read = 1000, .reads_from = 51}},
        {.pid = 51, .tool = "child.py", .pace = {.pipe_read = 1000, .reads_from = 50}, .parent = 50}}},
      {"network_dropped",
       {{.pid = 60, .tool = "fetch.py", .pace = {.running = 800, .network = 200, .network_bytes = megabytes}}}},
  };
}

}  // namespace

TEST_CASE("tasks of one user, however many, hide no finding about another's") {
  Task task(2, task_of(kBob, 7));
  add_crowd(task);
  std::uint64_t key = 10;
  for (Act& act : acts()) {
    const Context context = task_of(kAlice, ++key);
    task.add(start_of(context, act.players.front().pid));
    for (story::Player& player : act.players) {
      player.context = context;
      player.uid = kAlice;
      task.begin(std::move(player));
    }
  }
  for (int round = 0; round < 7; ++round) {
    if (round == 3) task.pace(60) = {.running = 10, .network = 900, .network_bytes = 1'000'000};
    task.add(busy_disk(task));
    task.live(1, kRound_ns);
  }
  for (const Act& act : acts()) {
    CAPTURE(act.code);
    const Finding* const said = task.last(act.code);
    CHECK(said != nullptr);
    if (said != nullptr) CHECK(said->context->owner_uid == kAlice);
  }
}

TEST_CASE("kills of one user's processes take nothing from what is said of another's") {
  Task task(2, task_of(kBob, 7));
  const auto kill_of = [](std::uint32_t pid, std::uint32_t uid, std::uint64_t key) {
    OomKill kill;
    kill.time_ns = 1;
    kill.process = build::process({.pid = pid, .uid = uid, .tool = "star", .context = task_of(uid, key)});
    kill.limit_bytes = 100u << 20;
    return kill;
  };
  for (std::uint32_t pid = kFirstOfCrowd; pid < kFirstOfCrowd + 2000; ++pid) task.add(kill_of(pid, kBob, 7));
  const OomKill kill = kill_of(10, kAlice, 11);
  task.add(start_of(*kill.process->context, 10));
  task.add(ProcessStart{1, kill.process, {}});
  task.add(kill);
  ProcessExit exit = build::exit(10, 2);
  exit.process = kill.process;
  exit.exit_code.reset();
  exit.exit_signal = 9;
  exit.exit_signal_sender = "kernel";
  exit.oom_killed = true;
  task.add(exit);
  REQUIRE(task.last("oom_kill") != nullptr);
  CHECK(story::value(*task.last("oom_kill"), "limit_bytes") == 100u << 20);
}

TEST_CASE("who read one user's pipes does not displace who read another's") {
  OutputReaders readers(1, std::make_shared<Accounts>());
  const auto read = [&](std::uint32_t reader, std::uint32_t writer, std::uint32_t uid) {
    ProcessExit exit = exit_of(reader, uid, 100);
    exit.program.account.ledger.emplace().pipe_read_peer_pid = writer;
    exit.program.account.read_bytes = 10;
    readers.saw(exit);
  };
  read(10, 11, kAlice);
  for (std::uint32_t pid = kFirstOfCrowd; pid < kFirstOfCrowd + kCrowd; ++pid) read(pid, pid + kCrowd, kBob);
  const auto reader = readers.reader_of(11, 50, 10);
  REQUIRE(reader != nullptr);
  CHECK(reader->pid == 10);
}

TEST_CASE("the devices for which a crowd waits leave room for another's") {
  DiskWaitsJoin join;
  const auto waits = [&](std::uint32_t pid, std::uint32_t uid) {
    DiskWaitsRecord record;
    record.identity.pid = pid;
    record.identity.start_ns = 1;
    record.waits = {{.device = 1, .name = "vda", .wait_ns = 1}};
    join.add(record, *build::process({.pid = pid, .uid = uid}));
  };
  for (std::uint32_t pid = kFirstOfCrowd; pid < kFirstOfCrowd + kCrowd; ++pid) waits(pid, kBob);
  waits(10, kAlice);
  ProcessSample sample;
  sample.process = build::process({.pid = 10});
  join.at_sample(sample);
  CHECK(sample.disk_wait_device == "vda");
}
