// SPDX-License-Identifier: Apache-2.0
/// For which other tasks a task waited.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "builders.hpp"
#include "insight/task_ledgers.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// What one process waited for: the seconds, and who ended that.
struct Wait {
  std::uint64_t seconds = 0;
  std::optional<std::uint32_t> peer = {};
};
/// Likewise; of `seconds`, `known` were ended by the peer.
struct OtherWaits {
  Wait socket = {};
  std::uint64_t socket_known = 0;
  Wait lock = {};
  std::uint64_t lock_known = 0;
  std::uint64_t threads = 1;  ///< That waited likewise at the same time, each for something else.
};

/// Tasks by their number, which is their key; 0 is none. Times are in seconds.
class World {
 public:
  void begin(std::uint32_t pid, std::uint64_t task, std::uint64_t at) {
    ProcessStart start;
    start.process = process(pid, task, at);
    start.time_ns = at * kSecond;
    ledgers.saw(start);
    if (task == 0 || started[task]) return;
    started[task] = true;
    TaskStart made;
    made.context = start.process->context;
    made.pid = pid;
    made.time_ns = made.start_ns = at * kSecond;
    if (book.saw(made)) ledgers.began(made);
  }
  void end(std::uint32_t pid, std::uint64_t task, std::uint64_t from, std::uint64_t to, Wait reads = {},
           Wait writes = {}, OtherWaits others = {}) {
    ProcessExit exit = build::exit(pid, to * kSecond);
    exit.process = process(pid, task, from);
    exit.begin_ns = from * kSecond;
    exit.end_ns = to * kSecond;
    Ledger& threads = exit.account.ledger.emplace();
    threads.pipe_read_peer_pid = reads.peer;
    threads.pipe_write_peer_pid = writes.peer;
    ProcessLedger& ledger = exit.account.process_ledger.emplace();
    ledger.life_ns = (to - from) * kSecond;
    ledger.pipe_read_ns = reads.seconds * kSecond;
    ledger.pipe_write_ns = writes.seconds * kSecond;
    ledger.pipe_ns = ledger.pipe_read_ns + ledger.pipe_write_ns;
    threads.local_socket_peer_pid = others.socket.peer;
    threads.local_socket_peer_ns = others.socket_known * kSecond;
    threads.lock_peer_pid = others.lock.peer;
    threads.lock_peer_ns = others.lock_known * kSecond;
    ledger.local_socket_ns = others.socket.seconds * kSecond;
    ledger.lock_ns = others.lock.seconds * kSecond;
    threads.local_socket_ns = others.threads * ledger.local_socket_ns;
    threads.lock_ns = others.threads * ledger.lock_ns;
    ledger.running_ns = ledger.life_ns - ledger.pipe_ns - ledger.local_socket_ns - ledger.lock_ns;
    ledgers.saw(exit);
    ++ended[task];
  }
  /// A whole life.
  void lived(std::uint32_t pid, std::uint64_t task, std::uint64_t from, std::uint64_t to, Wait reads = {},
             Wait writes = {}) {
    begin(pid, task, from);
    end(pid, task, from, to, reads, writes);
  }
  std::vector<AwaitedTask> finish(std::uint64_t task, std::uint64_t from, std::uint64_t to) {
    TaskFinish finish;
    finish.context = std::make_shared<const Context>(context(task));
    finish.begin_ns = from * kSecond;
    finish.time_ns = finish.end_ns = to * kSecond;
    finish.totals.processes = ended[task];
    ledgers.finish(finish);
    REQUIRE(finish.task_ledger.has_value());
    std::map<std::string, std::uint64_t> sums_ns;
    for (const AwaitedTask& each : finish.waits_for) sums_ns[each.cause] += each.wait_ns;
    last_ledger = *finish.task_ledger;
    CHECK(sums_ns["pipe"] <= last_ledger.pipe_ns);
    CHECK(sums_ns["local socket"] <= last_ledger.local_socket_ns);
    CHECK(sums_ns["lock"] <= last_ledger.lock_ns);
    return finish.waits_for;
  }

  tracer::internal::Book book;
  TaskLedgers ledgers{book, 4};
  TaskLedger last_ledger = {};
  std::optional<std::uint32_t> owner_of_2 = {};  ///< Of task 2; else as of all others.

 private:
  Context context(std::uint64_t task) const {
    Context made;
    if (task == 0) return made;
    made.task_key = Key{task};
    made.step = "step " + std::to_string(task);
    made.owner_uid = task == 2 && owner_of_2 ? owner_of_2 : std::optional(std::uint32_t{1000});
    return made;
  }
  std::shared_ptr<const Process> process(std::uint32_t pid, std::uint64_t task, std::uint64_t at) const {
    return build::process({.pid = pid, .start_ns = at * kSecond, .context = context(task)});
  }

  std::map<std::uint64_t, bool> started;
  std::map<std::uint64_t, std::uint64_t> ended;
};

bool is_about(std::uint64_t ns, std::uint64_t seconds) {
  return ns <= seconds * kSecond && ns + kSecond / 1000 >= seconds * kSecond;
}

}  // namespace

TEST_CASE("a task waits for those that have the other ends of its pipes, the longest first") {
  World world;
  world.begin(10, 1, 1);
  world.lived(20, 2, 1, 9);
  // One lives, one has ended.
  world.lived(30, 3, 1, 21, {2, 20}, {6, 10});
  const auto waits = world.finish(3, 1, 21);
  REQUIRE(waits.size() == 2);
  CHECK(waits[0].task_key == Key{1});
  CHECK(waits[0].name == "step 1");
  CHECK(is_about(waits[0].wait_ns, 6));
  CHECK(waits[1].task_key == Key{2});
  CHECK(is_about(waits[1].wait_ns, 2));
  world.end(10, 1, 1, 22);
  CHECK(world.finish(1, 1, 22).empty());
}

TEST_CASE("whom a task waited for is known, however many processes of another user have ended since") {
  World world;
  world.owner_of_2 = 1001;
  world.lived(10, 1, 1, 9);
  world.begin(20, 2, 1);
  for (std::uint32_t pid = 100; pid < 10'100; ++pid) world.lived(pid, 2, 9, 10);
  world.lived(30, 3, 1, 21, {6, 10});
  const auto waits = world.finish(3, 1, 21);
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].task_key == Key{1});
  world.end(20, 2, 1, 22);
}

TEST_CASE("a task does not wait for itself, and not for less than is worth a word") {
  World world;
  world.begin(10, 1, 1);
  world.begin(30, 3, 1);
  world.lived(31, 3, 1, 21, {15, 30});
  world.end(30, 3, 1, 21, {}, {15, 31});
  CHECK(world.finish(3, 1, 21).empty());
  world.end(10, 1, 1, 21);
}

TEST_CASE("what a task waits for outside of tasks has its part, and no name") {
  World world;
  world.begin(10, 1, 1);
  world.begin(98, 0, 1);
  world.lived(30, 3, 1, 21, {3, 10}, {9, 98});
  world.lived(40, 4, 1, 21, {4, 10}, {4, 99});
  auto waits = world.finish(3, 1, 21);
  REQUIRE(waits.size() == 1);
  CHECK(is_about(waits[0].wait_ns, 3));
  waits = world.finish(4, 1, 21);
  REQUIRE(waits.size() == 1);
  CHECK(is_about(waits[0].wait_ns, 4));
}

TEST_CASE("a pid that two had in that time names neither, one of another time is not meant") {
  World world;
  world.lived(10, 1, 1, 5);
  world.lived(10, 2, 6, 9);
  world.lived(30, 3, 2, 20, {3, 10});
  world.lived(40, 4, 7, 20, {3, 10});
  world.lived(50, 5, 10, 20, {3, 10});
  CHECK(world.finish(3, 2, 20).empty());
  CHECK(world.finish(5, 10, 20).empty());
  const auto waits = world.finish(4, 7, 20);
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].task_key == Key{2});
}

TEST_CASE("a task of another user is not named") {
  for (const std::uint32_t owner : {1000u, 1001u}) {
    World world;
    world.owner_of_2 = owner;
    world.begin(20, 2, 1);
    world.lived(30, 3, 1, 21, {6, 20});
    CHECK(world.finish(3, 1, 21).size() == (owner == 1000 ? 1 : 0));
  }
}

TEST_CASE("a task whose key has changed is named by the new one") {
  World world;
  world.begin(10, 1, 1);
  world.lived(30, 3, 1, 21, {6, 10});
  ContextChange change;
  Context before;
  before.task_key = Key{1};
  Context after = before;
  after.task_key = Key{7};
  after.step = "align";
  after.owner_uid = 1000;
  change.before = std::make_shared<const Context>(before);
  change.after = std::make_shared<const Context>(after);
  change.old_task_key = Key{1};
  world.book.saw(change);
  const auto waits = world.finish(3, 1, 21);
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].task_key == Key{7});
  CHECK(waits[0].name == "align");
}

TEST_CASE("of many tasks that one waited for, those are named that held it up most") {
  World world;
  for (std::uint32_t i = 0; i < 12; ++i) world.begin(100 + i, 10 + i, 1);
  std::uint64_t at = 1;
  for (std::uint32_t i = 0; i < 12; ++i) {
    world.lived(300 + i, 3, at, at + 1 + i, {1 + i, 100 + i});
    at += 1 + i;
  }
  const auto waits = world.finish(3, 1, at);
  REQUIRE(waits.size() == TaskFinish::kMostAwaited);
  CHECK(waits.front().task_key == Key{21});
  CHECK(is_about(waits.front().wait_ns, 12));
  for (std::size_t i = 1; i < waits.size(); ++i) CHECK(waits[i - 1].wait_ns >= waits[i].wait_ns);
}

TEST_CASE("a task waits for those that have the other ends of its local sockets, and its locks") {
  World world;
  world.begin(10, 1, 1);
  world.begin(20, 2, 1);
  world.begin(30, 3, 1);
  // For whom a third of the waits for sockets was is not known.
  world.end(30, 3, 1, 21, {}, {}, {.socket = {9, 10}, .socket_known = 6, .lock = {4, 20}, .lock_known = 4});
  const auto waits = world.finish(3, 1, 21);
  REQUIRE(waits.size() == 2);
  CHECK(waits[0].task_key == Key{1});
  CHECK(waits[0].cause == "local socket");
  CHECK(is_about(waits[0].wait_ns, 6));
  CHECK(waits[1].task_key == Key{2});
  CHECK(waits[1].cause == "lock");
  CHECK(is_about(waits[1].wait_ns, 4));
  CHECK(is_about(world.last_ledger.local_socket_ns, 9));
}

TEST_CASE("of the waits of a process, another ended as much as of those of its threads") {
  World world;
  world.begin(10, 1, 1);
  world.begin(30, 3, 1);
  // Ten threads waited for locks, one of them for that of another task.
  world.end(30, 3, 1, 21, {}, {}, {.lock = {10, 10}, .lock_known = 10, .threads = 10});
  const auto waits = world.finish(3, 1, 21);
  REQUIRE(waits.size() == 1);
  CHECK(is_about(waits[0].wait_ns, 1));
}

TEST_CASE("what one process of a task waited for another of it was no wait of the task") {
  World world;
  world.begin(10, 1, 1);
  world.begin(30, 3, 1);
  world.begin(31, 3, 1);
  world.end(31, 3, 1, 21, {}, {}, {.socket = {6, 30}, .socket_known = 6, .lock = {8, 30}, .lock_known = 4});
  world.end(30, 3, 1, 21, {19, 10});
  const auto waits = world.finish(3, 1, 21);
  for (const AwaitedTask& each : waits) CHECK(each.cause == "pipe");
  CHECK(world.last_ledger.local_socket_ns == 0);
}
