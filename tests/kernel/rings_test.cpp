// SPDX-License-Identifier: Apache-2.0
/// What becomes of records in the rings: several of them, one that is small, and one that is full.
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "children.hpp"
#include "held.hpp"
#include "kept.hpp"
#include "source/kernel/kernel_source.hpp"
#include "storage.hpp"
#include "truth.hpp"
#include "wire.h"

using namespace tracer::internal;
using tracer::Filter;

namespace {

bool emulated() { return std::getenv("TRACER_EMULATED") != nullptr; }

/// The first and the last CPU that this process may use; absent, and said: there is only one.
std::optional<std::pair<int, int>> two_cpus() {
  cpu_set_t usable;
  REQUIRE(::sched_getaffinity(0, sizeof usable, &usable) == 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &usable)) cpus.push_back(cpu);
  if (cpus.size() >= 2) return std::pair(cpus.front(), cpus.back());
  MESSAGE("SKIP: two CPUs are needed for it");
  return std::nullopt;
}

void stay_on(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(cpu), &one);
  if (::sched_setaffinity(0, sizeof one, &one) != 0) ::_exit(80);
}

/// A process on one CPU whose children, one after another, execute a program and end on another CPU.
pid_t start_crossing(int here, int there, int count) {
  return start_parent(
      count, [here] { stay_on(here); }, [there] { stay_on(there); });
}

/// Children without end, as fast as they come.
class Storm {
 public:
  Storm() : pid_(::fork()) {
    if (pid_ != 0) return;
    for (;;) {
      const pid_t pid = ::fork();
      if (pid == 0) ::_exit(0);
      ::waitpid(pid, nullptr, 0);
    }
  }
  ~Storm() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Storm(const Storm&) = delete;
  Storm& operator=(const Storm&) = delete;

 private:
  pid_t pid_;
};

/// One that takes long for each living thread that it is told of.
struct Slow final : Kept {
  void record(const Record& record) override {
    if (std::holds_alternative<ThreadRecord>(record)) {
      ++threads;
      ::usleep(pause_us);
    }
    Kept::record(std::move(record));
  }
  std::size_t threads = 0;
  unsigned pause_us = 0;
};

std::uint64_t lost_in_ring(const Source& source) {
  std::uint64_t sum = 0;
  for (const auto& [cause, count] : source.counters().losses)
    if (cause.starts_with("ring_full")) sum += count;
  return sum;
}

/// Of what this process makes, in two rings.
KernelSourceOptions two_rings() {
  KernelSourceOptions options;
  options.rules = {tree(::getpid(), 0)};
  options.rings = 2;
  return options;
}

void drain_all(Source& source, Feed& feed) {
  while (source.drain(feed, {})) continue;
}

std::size_t told_as_excluded(const Kept& kept, pid_t pid) {
  std::size_t count = 0;
  for (const StartRecord& record : kept.all<StartRecord>())
    count += record.excluded && record.identity.pid == static_cast<std::uint32_t>(pid) ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("of processes that begin on one CPU and go on on another, each has its records in order" *
          doctest::test_suite("waits essential")) {
  const auto cpus = two_cpus();
  if (!cpus) return;
  const int count = emulated() ? 100 : 1000;
  KernelSourceOptions options = two_rings();
  options.ring_bytes = 16u << 20;
  const auto source = kernel_source(options);
  Kept kept;
  source->start(kept);
  const pid_t first = start_crossing(cpus->first, cpus->second, count);
  const pid_t second = start_crossing(cpus->second, cpus->first, count);
  for (int n = 0; n < 20; ++n) {
    drain_all(*source, kept);
    ::usleep(10'000);
  }
  require_success(first);
  require_success(second);
  // As a flush: what was there has been yielded once the position is past it.
  source->settle(std::chrono::seconds(10));
  const std::uint64_t end = source->end_position();
  while (source->position() < end) source->drain(kept, {});
  CHECK(kept.exits().contains(static_cast<std::uint32_t>(first)));
  CHECK(kept.exits().contains(static_cast<std::uint32_t>(second)));
  source->stop();
  drain_all(*source, kept);
  CHECK(source->position() == source->end_position());
  CHECK(source->counters().losses.empty());

  struct Seen {
    std::string order;
    std::uint64_t last_ns = 0;
  };
  // Ids come again, with another time of start.
  std::map<std::pair<std::uint32_t, std::uint64_t>, Seen> seen;
  std::size_t early = 0;
  for (const Record& record : kept.records) {
    const auto note = [&](const RecordIdentity& identity, char what) {
      Seen& process = seen[{identity.pid, identity.start_ns}];
      process.order += what;
      early += identity.time_ns < process.last_ns ? 1 : 0;
      process.last_ns = identity.time_ns;
    };
    if (const auto* start = std::get_if<StartRecord>(&record)) note(start->identity, 's');
    if (const auto* exec = std::get_if<ExecRecord>(&record)) note(exec->identity, 'x');
    if (const auto* exit = std::get_if<ExitRecord>(&record)) note(exit->identity, 'e');
  }
  std::map<std::string, int> orders;
  for (const auto& [process, what] : seen) ++orders[what.order];
  CHECK(orders == std::map<std::string, int>{{"sxe", 2 * count}, {"se", 2}});
  CHECK(early == 0);
}

namespace {

/// While the first record is taken, more comes in another ring than wakes the reader.
struct ElsewhereToo final : Kept {
  void record(const Record& record) override {
    if (std::exchange(produces, false)) require_success(start_crossing(cpu, cpu, 60));
    Kept::record(std::move(record));
  }
  bool produces = false;
  int cpu = 0;
};

}  // namespace

TEST_CASE("a drain says so if, while it read one ring, as much came in another as wakes the reader" *
          doctest::test_suite("waits essential")) {
  const auto cpus = two_cpus();
  if (!cpus) return;
  KernelSourceOptions options = two_rings();
  options.ring_bytes = 512u << 10;
  const auto source = kernel_source(options);
  ElsewhereToo kept;
  source->start(kept);
  drain_all(*source, kept);
  // It is woken for what is in the first, so that nobody wakes it for what comes in the second.
  require_success(start_crossing(cpus->first, cpus->first, 60));
  kept.cpu = cpus->second;
  kept.produces = true;
  const DrainLimit no_limit{.records = 1'000'000, .time = std::chrono::hours(1)};
  CHECK(source->drain(kept, no_limit));
  CHECK_FALSE(kept.produces);
  source->stop();
  drain_all(*source, kept);
  CHECK(source->counters().losses.empty());
}

TEST_CASE("a drain of several rings stops at its limit, and what is left unread is counted" *
          doctest::test_suite("waits essential")) {
  const auto cpus = two_cpus();
  if (!cpus) return;
  for (const bool leave : {false, true}) {
    CAPTURE(leave);
    const auto source = kernel_source(two_rings());
    Kept kept;
    source->start(kept);
    drain_all(*source, kept);
    kept.records.clear();
    require_success(start_crossing(cpus->first, cpus->second, 20));
    source->stop();
    std::size_t rounds = 0;
    for (bool more = true; more && !(leave && rounds == 3); ++rounds) {
      const std::size_t before = kept.records.size();
      const std::uint64_t position = source->position();
      more = source->drain(kept, {.records = 7, .time = std::chrono::seconds(100)});
      CHECK(kept.records.size() <= before + 7);
      CHECK(source->position() >= position);
      CHECK(source->position() <= source->end_position());
    }
    // 21 processes, of which 20 execute a program. If others make cgroups here, that is told, too.
    constexpr std::size_t kAll = 21 + 20 + 21;
    if (leave) {
      CHECK(kept.records.size() == 21);
      CHECK(source->leave_unread());
      CHECK(source->counters().losses.at("left_unread") >= kAll - 21);
    } else {
      CHECK(kept.all<StartRecord>().size() + kept.all<ExecRecord>().size() + kept.exits().size() == kAll);
      CHECK(rounds >= kAll / 7);
      CHECK(source->counters().losses.empty());
    }
    CHECK(source->position() == source->end_position());
    CHECK_FALSE(source->drain(kept, {}));
  }
}

TEST_CASE("while what lives is visited, what happens meanwhile is not lost, however long that takes" *
          doctest::test_suite("native")) {
  const Held threads = hold(truth::call("threads_beyond_room", {"2000"}));
  const Held processes = hold(truth::call("quiet_crowd", {"400"}));
  KernelSourceOptions options;
  options.rules = {tree(::getpid(), 0)};
  options.ring_bytes = 128u << 10;
  const auto source = kernel_source(options);
  Slow kept;
  source->start(kept);
  const Storm storm;
  for (const bool by_track : {false, true}) {
    CAPTURE(by_track);
    kept.pause_us = by_track ? 1000 : 200;
    // What counts is a visit during which more happens than the ring has room for.
    int counting = 0;
    std::uint64_t happened_bytes = 0;
    const std::uint64_t lost_before = lost_in_ring(*source);
    for (std::uint32_t round = 1; counting < 3 && round < 100; ++round) {
      drain_all(*source, kept);
      kept.records.clear();
      kept.threads = 0;
      const std::uint64_t before = source->end_position();
      by_track ? source->tracker()->track(processes.pid, round, kept) : source->snapshots()->snapshot(kept, false);
      CHECK(kept.threads >= (by_track ? 401 : 2401));
      happened_bytes += source->end_position() - before;
      if (source->end_position() - before > options.ring_bytes) ++counting;
    }
    if (counting < 3) MESSAGE("SKIP: other programs leave the storm too little of the CPUs");
    // None, but while the reader itself got no CPU for so long that the ring was full.
    CHECK((lost_in_ring(*source) - lost_before) * 20 <= happened_bytes / sizeof(tracer_wire_process_exit));
  }
  release(threads);
  release(processes);
}

TEST_CASE("an exclusion that finds no room in the ring is told later" * doctest::test_suite("waits")) {
  const auto cgroup = LimitedCgroup::make("memory");
  if (!cgroup) {
    MESSAGE("SKIP: no cgroup can be made here");
    return;
  }
  for (const bool executes : {true, false}) {
    CAPTURE(executes);
    KernelSourceOptions options;
    SourceRule excluded;
    excluded.rule.subject = Filter::Subject::kCgroup;
    excluded.rule.include = false;
    excluded.rule.text = cgroup->folder();
    options.rules = {tree(::getpid(), 0), excluded};
    options.ring_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const auto source = kernel_source(options);
    Kept kept;
    source->start(kept);
    const Held held = hold(truth::call(executes ? "hold_and_execute" : "hold", {"0"}));
    drain_all(*source, kept);
    REQUIRE(lost_in_ring(*source) == 0);
    // Until there is no room for the smallest of records.
    for (int n = 0; n < 10'000 && !source->counters().losses.contains("ring_full_process_start"); ++n) {
      const pid_t pid = ::fork();
      if (pid == 0) ::_exit(0);
      ::waitpid(pid, nullptr, 0);
    }
    source->settle(std::chrono::seconds(10));
    const auto losses = source->counters().losses;
    REQUIRE(losses.contains("ring_full_process_start"));
    REQUIRE(cgroup->take(held.pid));
    drain_all(*source, kept);
    CHECK(told_as_excluded(kept, held.pid) == 0);
    release(held);
    source->stop();
    drain_all(*source, kept);
    CHECK(told_as_excluded(kept, held.pid) == 1);
    CHECK_FALSE(kept.exits().contains(static_cast<std::uint32_t>(held.pid)));
    CHECK(source->counters().losses == losses);
  }
}
