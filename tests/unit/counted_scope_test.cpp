// SPDX-License-Identifier: Apache-2.0
/// Which processes the kernel is asked to count together, and what becomes of what it counts.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "builders.hpp"
#include "insight/task_ledgers.hpp"

using namespace tracer;
using tracer::internal::ScopeCounts;
using tracer::internal::ScopeTimes;
using tracer::internal::TaskLedgers;

namespace {

constexpr std::uint64_t kMs = 1'000'000;

/// Remembers what it is asked; time and what was counted are what the test says.
class Counts final : public ScopeCounts {
 public:
  std::uint64_t now_ns() const override { return now; }
  std::optional<std::uint32_t> begin() override {
    if (full) return std::nullopt;
    begun.push_back(++last_);
    return last_;
  }
  Put put(std::uint32_t pid, std::uint64_t, std::uint32_t scope) override {
    puts.emplace_back(pid, scope);
    return gone ? Put::kGone : was_in ? Put::kWasIn : Put::kPut;
  }
  std::optional<ScopeTimes> read(std::uint32_t scope) override {
    if (!times.contains(scope)) return std::nullopt;
    return times.at(scope);
  }
  void end(std::uint32_t scope) override { ended.push_back(scope); }

  std::uint64_t now = kMs;
  bool full = false;
  bool gone = false;
  bool was_in = false;
  std::vector<std::uint32_t> begun;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> puts;
  std::vector<std::uint32_t> ended;
  std::map<std::uint32_t, ScopeTimes> times;

 private:
  std::uint32_t last_ = 0;
};

using Puts = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

ScopeTimes computed(std::uint64_t ran_ms, std::uint64_t life_ms) {
  ScopeTimes times;
  times.waits.life_ns = life_ms * kMs;
  times.waits.running_ns = ran_ms * kMs;
  times.waits.wait_ns[static_cast<std::size_t>(internal::WaitCause::kSleep)] = (life_ms - ran_ms) * kMs;
  return times;
}

Context run_context() {
  Context context;
  context.run_id = "r1";
  context.run_key = Key{1};
  return context;
}
Context task_context(std::uint64_t key = 7) {
  Context context = run_context();
  context.task_key = Key{key};
  context.task = "T";
  return context;
}

/// Times in milliseconds.
struct Story {
  explicit Story(ScopeCounts* counts) : ledgers(book, 2, counts) {}

  std::shared_ptr<const Process> process(std::uint32_t pid, const Context& context) {
    const auto& [start, parent] = born.at(pid);
    return build::process({.pid = pid, .start_ns = start * kMs, .parent_pid = parent, .context = context});
  }
  void start(std::uint32_t pid, std::uint64_t at, const Context& context, std::optional<std::uint32_t> parent = {}) {
    born[pid] = {at, parent};
    ledgers.saw(ProcessStart{at * kMs, process(pid, context), {}});
  }
  void execute(std::uint32_t pid, std::uint64_t at, const Context& context) {
    ProcessExec exec;
    exec.time_ns = at * kMs;
    exec.process = process(pid, context);
    exec.ended.start_ns = born.at(pid).first * kMs;
    ledgers.saw(exec);
  }
  /// It slept for what it did not compute.
  void end(std::uint32_t pid, std::uint64_t at, std::uint64_t ran, const Context& context) {
    ProcessExit exit = build::exit(pid, at * kMs);
    exit.process = process(pid, context);
    exit.start_ns = exit.begin_ns = born.at(pid).first * kMs;
    ProcessLedger& ledger = exit.account.process_ledger.emplace();
    ledger.life_ns = exit.end_ns - exit.start_ns;
    ledger.running_ns = ran * kMs;
    ledger.sleep_ns = ledger.life_ns - ledger.running_ns;
    ledgers.saw(exit);
    ++ended;
  }
  TaskLedger finish(std::uint64_t from, std::uint64_t to, const Context& context) {
    TaskFinish finish;
    finish.context = std::make_shared<const Context>(context);
    finish.begin_ns = finish.start_ns = from * kMs;
    finish.end_ns = finish.time_ns = to * kMs;
    finish.totals.processes = ended;
    ledgers.finish(finish);
    book.finished(context, false);
    REQUIRE(finish.task_ledger.has_value());
    return *finish.task_ledger;
  }

  tracer::internal::Book book;
  TaskLedgers ledgers;
  std::map<std::uint32_t, std::pair<std::uint64_t, std::optional<std::uint32_t>>> born;
  std::uint64_t ended = 0;
};

}  // namespace

TEST_CASE("what a counted process starts is counted without being asked for, and sums have no bounds") {
  Counts counts;
  Story story(&counts);
  story.start(1, 1, task_context());
  CHECK(counts.begun.size() == 1);
  story.start(2, 100, task_context(), 1);
  story.start(3, 200, task_context(), 2);
  CHECK(counts.puts == Puts{{1, 1}});
  story.end(3, 10'001, 4000, task_context());
  story.end(2, 10'001, 4000, task_context());
  story.end(1, 10'001, 100, task_context());
  counts.times[1] = computed(6000, 10'020);
  const TaskLedger ledger = story.finish(1, 10'001, task_context());
  CHECK(ledger.computing_ns == 6000 * kMs);
  CHECK(ledger.computing_at_most_ns == 6000 * kMs);
  CHECK(counts.ended == std::vector<std::uint32_t>{1});
}

TEST_CASE("one that was born before its parent was counted may have been missed for a while") {
  Counts counts;
  counts.now = 50 * kMs;
  Story story(&counts);
  story.start(1, 1, task_context());
  counts.now = 51 * kMs;
  story.start(2, 40, task_context(), 1);
  CHECK(counts.puts == Puts{{1, 1}, {2, 1}});
  counts.was_in = true;
  story.start(3, 49, task_context(), 1);
  CHECK(counts.puts.size() == 3);
  counts.gone = true;
  counts.now = 70 * kMs;
  story.start(4, 45, task_context(), 1);
  for (const std::uint32_t pid : {4, 3, 2, 1}) story.end(pid, 10'050, 2500, task_context());
  counts.times[1] = computed(5000, 10'000);
  const TaskLedger ledger = story.finish(1, 10'050, task_context());
  // Not known: the 49 ms before, 1 ms of the second one, 20 ms of the fourth.
  CHECK(ledger.computing_ns == 5000 * kMs);
  CHECK(ledger.computing_at_most_ns == 5070 * kMs);
}

TEST_CASE("of scopes inside each other the innermost is counted") {
  Counts counts;
  Story story(&counts);
  story.start(1, 1, run_context());
  CHECK(counts.puts == Puts{{1, 1}});
  // It is of the run when it is forked, and of a task when it executes.
  story.start(2, 10, run_context(), 1);
  CHECK(counts.puts.size() == 1);
  story.execute(2, 11, task_context());
  CHECK(counts.puts.back() == std::pair<std::uint32_t, std::uint32_t>{2, 2});
  CHECK(counts.ended == std::vector<std::uint32_t>{1});
  // The run is not counted any more, and so there is nothing to ask for.
  story.start(3, 20, run_context(), 1);
  CHECK(counts.puts.size() == 2);
}

TEST_CASE("where the kernel has no room, or knows nothing any more, there are bounds") {
  for (const bool full : {true, false}) {
    Counts counts;
    counts.full = full;
    Story story(&counts);
    story.start(1, 1, task_context());
    story.start(2, 1, task_context(), 1);
    CHECK(counts.puts.empty() == full);
    story.end(2, 10'001, 4000, task_context());
    story.end(1, 10'001, 4000, task_context());
    const TaskLedger ledger = story.finish(1, 10'001, task_context());
    CHECK(ledger.computing_ns == 4000 * kMs);
    CHECK(ledger.computing_at_most_ns == 8000 * kMs);
  }
}
