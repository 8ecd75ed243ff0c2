// SPDX-License-Identifier: Apache-2.0
/// The kernel source without a session around it.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kept.hpp"
#include "source/proc/cgroup_files.hpp"
#include "source/kernel/kernel_source.hpp"

using namespace tracer::internal;
using tracer::Family;

namespace {

/// A process, its child and its grandchild, which live until release().
class Generations {
 public:
  Generations() {
    int told[2];
    REQUIRE(::pipe2(told, O_CLOEXEC) == 0);
    if (::fork() == 0) live(2, told[1]);
    ::close(told[1]);
    for (int n = 0; n < 3; ++n) {
      pid_t pid = 0;
      REQUIRE(::read(told[0], &pid, sizeof pid) == sizeof pid);
      pids.push_back(static_cast<std::uint32_t>(pid));
    }
    ::close(told[0]);
  }
  ~Generations() { release(); }
  Generations(const Generations&) = delete;
  Generations& operator=(const Generations&) = delete;

  void release() {
    if (pids.empty()) return;
    ::kill(static_cast<pid_t>(pids.front()), SIGTERM);
    ::waitpid(static_cast<pid_t>(pids.front()), nullptr, 0);
    pids.clear();
  }

  std::vector<std::uint32_t> pids;  ///< From the first to its grandchild.

 private:
  [[noreturn]] static void live(int more, int tell) {
    sigset_t end;
    ::sigemptyset(&end);
    ::sigaddset(&end, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &end, nullptr);
    const pid_t self = ::getpid();
    if (::write(tell, &self, sizeof self) != sizeof self) ::_exit(1);
    const pid_t child = more > 0 ? ::fork() : -1;
    if (child == 0) live(more - 1, tell);
    int signal = 0;
    ::sigwait(&end, &signal);
    if (child > 0) {
      ::kill(child, SIGTERM);
      ::waitpid(child, nullptr, 0);
    }
    ::_exit(0);
  }
};

void fork_many(int count) {
  for (int n = 0; n < count; ++n) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(0);
    REQUIRE(::waitpid(pid, nullptr, 0) == pid);
  }
}

}  // namespace

TEST_CASE("a tree that is followed already gets a new context, with all its living descendants") {
  Generations family;
  Generations other;
  KernelSourceOptions options;
  options.rules = {tree(static_cast<pid_t>(family.pids[0]), 1), tree(static_cast<pid_t>(other.pids[0]), 1)};
  const auto source = kernel_source(options);
  Kept kept;
  source->start(kept);
  for (const std::uint32_t pid : family.pids) CHECK(kept.contexts()[pid] == 1);
  kept.records.clear();

  source->tracker()->track(static_cast<pid_t>(family.pids[1]), 2, kept);
  // Only what was changed is told, once each.
  const auto changed = kept.all<ThreadRecord>();
  REQUIRE(changed.size() == 2);
  for (const ThreadRecord& record : changed) CHECK(record.identity.context_id == 2);
  source->snapshots()->snapshot(kept, false);
  CHECK(kept.contexts()[family.pids[0]] == 1);
  CHECK(kept.contexts()[family.pids[1]] == 2);
  CHECK(kept.contexts()[family.pids[2]] == 2);
  for (const std::uint32_t pid : other.pids) CHECK(kept.contexts()[pid] == 1);

  family.release();
  other.release();
  source->stop();
  while (source->drain(kept, {})) {
  }
  std::map<std::uint32_t, std::uint64_t> ended;
  for (const RawTotals& totals : source->tracker()->totals()) ended[totals.context_id] = totals.ended;
  CHECK(ended == std::map<std::uint32_t, std::uint64_t>{{1, 4}, {2, 2}});
}

TEST_CASE("a drain stops at its limit and goes on where it stopped" * doctest::test_suite("native")) {
  KernelSourceOptions options;
  options.rules = {tree(::getpid(), 0)};
  const auto source = kernel_source(options);
  Kept kept;
  source->start(kept);
  fork_many(20);
  source->stop();
  kept.records.clear();
  std::size_t rounds = 0;
  for (bool more = true; more; ++rounds) {
    const std::size_t before = kept.records.size();
    more = source->drain(kept, {.records = 7, .time = std::chrono::seconds(10)});
    CHECK(kept.records.size() <= before + 7);
  }
  CHECK(rounds >= 40 / 7);
  CHECK(kept.exits().size() == 20);
  CHECK(source->counters().losses.empty());
  CHECK(source->counters().records >= 40);
  CHECK_FALSE(source->drain(kept, {.time = std::chrono::nanoseconds(0)}));
}

TEST_CASE("a snapshot yields what ended before it, and ends even while processes come without end" *
          doctest::test_suite("native")) {
  KernelSourceOptions options;
  options.rules = {tree(::getpid(), 0)};
  options.families = {Family::kSnapshots};
  const auto source = kernel_source(options);
  Kept kept;
  source->start(kept);
  fork_many(5);
  const pid_t storm = ::fork();
  if (storm == 0)
    for (;;) {
      const pid_t pid = ::fork();
      if (pid == 0) ::_exit(0);
      ::waitpid(pid, nullptr, 0);
    }
  for (int n = 0; n < 10; ++n) source->snapshots()->snapshot(kept, true);
  CHECK(kept.ends.size() == 10);
  CHECK(std::is_sorted(kept.ends.begin(), kept.ends.end()));
  CHECK(kept.exits().size() >= 5);
  CHECK(kept.contexts().contains(static_cast<std::uint32_t>(::getpid())));
  ::kill(storm, SIGKILL);
  ::waitpid(storm, nullptr, 0);
}

TEST_CASE("a stop waits until all that was reaped has been told of" * doctest::test_suite("native")) {
  for (int n = 0; n < 3; ++n) {
    KernelSourceOptions options;
    options.rules = {tree(::getpid(), 0)};
    const auto source = kernel_source(options);
    Kept kept;
    source->start(kept);
    fork_many(3);
    source->stop();
    while (source->drain(kept, {})) {
    }
    CHECK(kept.exits().size() == 3);
  }
}

TEST_CASE("families are shed while other threads read what they cost" * doctest::test_suite("native")) {
  KernelSourceOptions options;
  options.rules = {tree(::getpid(), 0)};
  options.families = {Family::kWaits, Family::kSnapshots};
  options.time_programs = true;
  const auto source = kernel_source(options);
  Kept kept;
  source->start(kept);
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int n = 0; n < 2; ++n)
    readers.emplace_back([&] {
      while (!done) {
        static_cast<void>(source->kernel_side()->kernel_ns());
        static_cast<void>(source->kernel_side()->kernel_memory_bytes());
        static_cast<void>(source->families());
        static_cast<void>(source->tracker()->totals());
        static_cast<void>(source->counters());
      }
    });
  const tracer::Problem problem{tracer::ErrorCode::kOverBudget, 0, "too dear", {}, {}};
  fork_many(20);
  source->shed(Family::kSnapshots, problem);
  fork_many(20);
  source->shed(Family::kWaits, problem);
  source->snapshots()->snapshot(kept, true);
  fork_many(20);
  source->stop();
  while (source->drain(kept, {})) {
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  CHECK(kept.exits().size() == 60);
  CHECK(kept.all<FileRecord>().empty());
  const auto families = source->families();
  REQUIRE(families.size() == 3);
  CHECK(families[0].family == Family::kLifecycle);
  CHECK(families[0].active);
  for (const auto& state : {families[1], families[2]}) {
    CHECK_FALSE(state.active);
    CHECK(state.problem.has_value());
  }
}

TEST_CASE("the path of a living process's cgroup is found by its id") {
  KernelSourceOptions options;
  options.rules = {tree(::getpid(), 0)};
  const auto source = kernel_source(options);
  Kept kept;
  source->start(kept);
  const auto threads = kept.all<ThreadRecord>();
  REQUIRE_FALSE(threads.empty());
  const RecordIdentity& identity = threads.front().identity;
  const auto texts = kept.all<TextRecord>();
  REQUIRE_FALSE(texts.empty());
  CHECK(source->questions()->cgroup_path(identity.hierarchy, identity.cgroup_id) == texts.front().cgroup);
  CHECK_FALSE(source->questions()->cgroup_path(identity.hierarchy, 0xffff'ffff'ffffull).has_value());
}

namespace {

/// While the first record is taken, more comes than wakes the reader.
struct Producing : Kept {
  void record(const Record& record) override {
    if (std::exchange(produces, false)) {
      fork_many(200);
      // Their ends may be told a moment later.
      ::usleep(20'000);
    }
    Kept::record(std::move(record));
  }
  bool produces = false;
};

bool is_readable(int fd, int wait_ms) {
  pollfd ready{fd, POLLIN, 0};
  return ::poll(&ready, 1, wait_ms) == 1;
}

/// Reads until nothing is left that has woken the reader: records of ends may come a moment later.
void read_until_quiet(const Source& source, const std::function<void()>& read) {
  const auto is_quiet = [&] {
    ::usleep(5000);
    read();
    return !is_readable(source.fd(), 0);
  };
  for (int tries = 0; tries < 100; ++tries)
    if (is_quiet()) return;
  FAIL("it is readable all the time");
}

}  // namespace

TEST_CASE("the reader is woken again, whatever came while it was reading or kept up" *
          doctest::test_suite("essential")) {
  KernelSourceOptions options;
  // An eighth of it wakes the reader.
  options.ring_bytes = 128u << 10;
  options.rings = 1;
  options.rules = {tree(::getpid(), 0)};
  const auto source = kernel_source(options);
  Producing kept;
  source->start(kept);
  const std::function<void()> drain = [&] {
    // Not cut short: then it would be read once more.
    source->drain(kept, {.records = 1'000'000, .time = std::chrono::hours(1)});
  };
  const std::function<void()> keep_up = [&] {
    static_cast<void>(source->questions()->pss_bytes(static_cast<std::uint32_t>(::getpid()), 0));
  };
  for (int n = 0; n < 3; ++n) {
    read_until_quiet(*source, drain);
    fork_many(1);
    kept.produces = true;
    drain();
    CHECK_FALSE(kept.produces);
    // It forgets what has woken it, as there is nothing to be read.
    static_cast<void>(is_readable(source->fd(), 0));
    fork_many(200);
    CHECK(is_readable(source->fd(), 10'000));
    for (const auto& read : {drain, keep_up}) {
      read_until_quiet(*source, read);
      fork_many(200);
      CHECK(is_readable(source->fd(), 10'000));
    }
  }
  source->stop();
  while (source->drain(kept, {})) continue;
  CHECK(source->counters().losses.empty());
}
