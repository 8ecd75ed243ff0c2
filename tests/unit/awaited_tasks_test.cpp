// SPDX-License-Identifier: Apache-2.0
/// For which other tasks a task waited.
#include "report/awaited_tasks.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "builders.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

using Awaited = std::vector<std::pair<Key, std::uint64_t>>;

/// Of a task by its key; 0: of none. Times are in seconds.
ProcessExit exit_of(std::uint32_t pid, std::uint64_t task, std::uint64_t begin, std::uint64_t end,
                    std::optional<std::uint32_t> reads_from = {}, std::uint64_t waited = 0) {
  ProcessExit exit = build::exit(pid, end * kSecond);
  Context context;
  if (task != 0) context.task_key = Key{task};
  exit.process = build::process({.pid = pid, .start_ns = begin * kSecond, .context = context});
  exit.account.ledger.emplace().pipe_read_peer_pid = reads_from;
  exit.account.process_ledger.emplace().pipe_read_ns = waited * kSecond;
  return exit;
}

}  // namespace

TEST_CASE("a task waits for those that have the other ends of its pipes, and not for itself") {
  AwaitedTasks tasks;
  tasks.add(Event(exit_of(10, 1, 1, 20)));
  tasks.add(Event(exit_of(20, 2, 1, 20)));
  tasks.add(Event(exit_of(30, 3, 1, 20, 10, 6)));
  tasks.add(Event(exit_of(31, 3, 1, 20, 20, 2)));
  tasks.add(Event(exit_of(32, 3, 1, 20, 31, 15)));
  CHECK(tasks.awaited_by(Key{3}, 8 * kSecond) == Awaited{{Key{1}, 6 * kSecond}, {Key{2}, 2 * kSecond}});
  // At the same time; or something of it computed meanwhile.
  CHECK(tasks.awaited_by(Key{3}, 4 * kSecond) == Awaited{{Key{1}, 3 * kSecond}, {Key{2}, kSecond}});
  CHECK(tasks.awaited_by(Key{1}, 8 * kSecond).empty());
}

TEST_CASE("what it waits for outside of tasks has its part, and no name") {
  AwaitedTasks tasks;
  tasks.add(Event(exit_of(10, 1, 1, 20)));
  tasks.add(Event(exit_of(30, 3, 1, 20, 10, 3)));
  tasks.add(Event(exit_of(31, 3, 1, 20, 99, 9)));
  CHECK(tasks.awaited_by(Key{3}, 4 * kSecond) == Awaited{{Key{1}, kSecond}});
}

TEST_CASE("a pid that two had in that time names neither, one of another time is not meant") {
  AwaitedTasks tasks;
  tasks.add(Event(exit_of(10, 1, 1, 5)));
  tasks.add(Event(exit_of(10, 2, 6, 20)));
  tasks.add(Event(exit_of(30, 3, 2, 20, 10, 3)));
  tasks.add(Event(exit_of(40, 4, 7, 20, 10, 3)));
  CHECK(tasks.awaited_by(Key{3}, 3 * kSecond).empty());
  CHECK(tasks.awaited_by(Key{4}, 3 * kSecond) == Awaited{{Key{2}, 3 * kSecond}});
}
