// SPDX-License-Identifier: Apache-2.0
#include "source/proc/proc_source.hpp"

#include <sys/epoll.h>

#include <chrono>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "correlate/account.hpp"
#include "fake_proc.hpp"
#include "source/proc/poll_clock.hpp"
#include "source/proc/proc_files.hpp"

using namespace tracer;
using namespace tracer::internal;
using fake_proc::FakeProc;
using fake_proc::FakeProcess;
using fake_proc::kFirst;
using fake_proc::ticks_now;

namespace {

class Kept final : public Feed {
 public:
  void record(const Record& record) override { records.push_back(record); }
  void event(Event) override {}
  void snapshot_end(std::uint64_t) override { ++snapshots; }

  template <class R>
  std::vector<R> all() const {
    std::vector<R> found;
    for (const Record& each : records)
      if (const R* typed = std::get_if<R>(&each)) found.push_back(*typed);
    return found;
  }

  std::vector<Record> records;
  int snapshots = 0;
};

/// A source of a made-up /proc; each look() looks at everything.
struct Polled {
  explicit Polled(FakeProc& fake, std::size_t most = 100) : proc(fake) {
    ProcSourceOptions options;
    options.root = fake.root();
    options.max_processes = most;
    options.families = default_families();
    options.track_all = true;
    source = proc_source(options);
  }
  void look() {
    source->settle(std::chrono::milliseconds(0));
    source->drain(kept, {});
  }

  FakeProc& proc;
  std::unique_ptr<Source> source;
  Kept kept;
};

}  // namespace

TEST_CASE("the text of a process's state is read whatever its name is") {
  const auto stat = parse_proc_stat(
      "42 (a) R 1) (\nb) S 7 1 1 0 -1 4194368 11 0 13 0 5 6 7 8 20 0 3 0 900 1 2 18446744073709551615 1 1 140 0 0 0 0 "
      "0 0 "
      "0 0 0 17 0 0 0 0 0 0 0 0 0 10 30 0 0 256\n");
  REQUIRE(stat.has_value());
  CHECK(stat->comm == "a) R 1) (\nb");
  CHECK(stat->state == 'S');
  CHECK(stat->parent_pid == 7);
  CHECK((stat->flags & kForkedOnly) != 0);
  CHECK(stat->minor_faults == 11);
  CHECK(stat->major_faults == 13);
  CHECK(stat->user_ns == 5 * tick_ns());
  CHECK(stat->system_ns == 6 * tick_ns());
  CHECK(stat->children_cpu_ns == 15 * tick_ns());
  CHECK(stat->threads == 3);
  CHECK(stat->stack == 140);
  CHECK(stat->arguments_bytes == 20);
  CHECK(stat->wait_status == 256);
  for (const char* text : {"", "42", "42 (a", "42 (a)", "42 (a) ", ") S 1 (", "42 (a) S", "42 (a) S 1 1 1 0 -1",
                           "42 (a) S -1 1 1 0 -1 0 0 0 0 0 5 6 7 8 20 0 3 0 900"})
    CHECK_FALSE_MESSAGE(parse_proc_stat(text).has_value(), text);
}

TEST_CASE("files of /proc are read line by line, and what is not there is absent") {
  CHECK(parse_schedstat("123 45 6\n")->run_queue_ns == 45);
  CHECK_FALSE(parse_schedstat("123").has_value());
  CHECK_FALSE(parse_schedstat("x 1").has_value());
  const auto status =
      parse_proc_status("Name:\tUid:\t9\nUid:\t1000\t0\t0\t0\nVmHWM:\t 80 kB\nvoluntary_ctxt_switches:\t3\n");
  REQUIRE(status.has_value());
  CHECK(status->uid == 1000);
  CHECK_FALSE(status->all_uid.has_value());
  CHECK_FALSE(status->all_gid.has_value());
  CHECK(parse_proc_status("Uid:\t7\t7\t7\t7\nGid:\t5\t5\t5\t5\n")->all_uid == 7u);
  CHECK(parse_proc_status("Uid:\t7\t7\t7\t7\nGid:\t5\t5\t5\t5\n")->all_gid == 5u);
  CHECK_FALSE(parse_proc_status("Uid:\t7\t7\t7\t7\nGid:\t5\t5\t6\t5\n")->all_gid.has_value());
  CHECK_FALSE(status->memory.has_value());
  CHECK(status->voluntary_switches == 3);
  CHECK_FALSE(status->involuntary_switches.has_value());
  CHECK_FALSE(parse_proc_status("Uid:\tx\n").has_value());
  RawAccount io;
  CHECK_FALSE(parse_proc_io("rchar: 1\n", io));
}

TEST_CASE("what lives is taken in with its words, and what comes later, too") {
  FakeProc proc;
  proc.put({.pid = kFirst, .words = "/bin/first"});
  Polled polled(proc);
  polled.source->start(polled.kept);
  REQUIRE(polled.kept.all<StartRecord>().size() == 1);
  const StartRecord first = polled.kept.all<StartRecord>().front();
  CHECK(first.identity.pid == kFirst);
  CHECK(first.attached_ns.has_value());
  CHECK(first.identity.start_ns == 1000 * tick_ns());
  CHECK(polled.kept.all<TextRecord>().front().text.argv->front() == "/bin/first");

  proc.put({.pid = kFirst + 1, .parent = kFirst, .start_ticks = ticks_now() + 1});
  polled.look();
  REQUIRE(polled.kept.all<StartRecord>().size() == 2);
  CHECK(polled.kept.all<StartRecord>()[1].identity.parent_pid == kFirst);
  CHECK(polled.kept.all<StartRecord>()[1].identity.parent_start_ns == 1000 * tick_ns());
}

TEST_CASE("of a process that was gone at the next look, the last look gives lower bounds, and no status") {
  FakeProc proc;
  proc.put({.user_ticks = 30, .cpu_ns = 305'000'000, .peak_kib = 4000});
  Polled polled(proc);
  polled.source->start(polled.kept);
  proc.remove(kFirst);
  polled.look();
  const auto exits = polled.kept.all<ExitRecord>();
  REQUIRE(exits.size() == 1);
  CHECK(exits[0].total.cpu_ns == 305'000'000);
  CHECK(exits[0].flags.last_look);
  CHECK_FALSE(exits[0].exit_code.has_value());
  CHECK_FALSE(exits[0].exit_signal.has_value());
  polled.look();
  CHECK(polled.kept.all<ExitRecord>().size() == 1);
}

TEST_CASE("a process that nobody has waited for yet says how it ended, once") {
  FakeProc proc;
  proc.put({.user_ticks = 10, .cpu_ns = 100'000'000});
  Polled polled(proc);
  polled.source->start(polled.kept);
  proc.put({.state = 'Z', .user_ticks = 30, .stack = 0, .cpu_ns = 304'000'000, .wait_status = 3 << 8});
  polled.look();
  polled.look();
  auto exits = polled.kept.all<ExitRecord>();
  REQUIRE(exits.size() == 1);
  CHECK(exits[0].total.cpu_ns == 304'000'000);
  CHECK_FALSE(exits[0].flags.last_look);
  CHECK(exits[0].exit_code == 3);
  proc.remove(kFirst);
  polled.look();
  CHECK(polled.kept.all<ExitRecord>().size() == 1);
  CHECK(polled.kept.all<StartRecord>().size() == 1);
}

TEST_CASE("a first thread that ended before the others is no end") {
  FakeProc proc;
  proc.put({.threads = 3});
  Polled polled(proc);
  polled.source->start(polled.kept);
  proc.put({.state = 'Z', .threads = 2});
  polled.look();
  CHECK(polled.kept.all<ExitRecord>().empty());
  proc.remove(kFirst);
  polled.look();
  REQUIRE(polled.kept.all<ExitRecord>().size() == 1);
  CHECK_FALSE(polled.kept.all<ExitRecord>()[0].exit_code.has_value());
}

TEST_CASE("a pid that comes again is another process") {
  FakeProc proc;
  proc.put({.comm = "one"});
  Polled polled(proc);
  polled.source->start(polled.kept);
  proc.put({.comm = "two", .start_ticks = ticks_now() + 1});
  polled.look();
  REQUIRE(polled.kept.all<ExitRecord>().size() == 1);
  CHECK(polled.kept.all<ExitRecord>()[0].identity.start_ns == 1000 * tick_ns());
  polled.look();
  const auto starts = polled.kept.all<StartRecord>();
  REQUIRE(starts.size() == 2);
  CHECK(starts[1].identity.comm == "two");
  CHECK(starts[1].identity.start_ns != starts[0].identity.start_ns);
}

TEST_CASE("an exec is seen by its new stack, and what was consumed around it belongs to neither program for sure") {
  FakeProc proc;
  proc.put({.flags = kForkedOnly, .user_ticks = 1, .cpu_ns = 10'000'000});
  Polled polled(proc);
  polled.source->start(polled.kept);
  proc.put({.comm = "next", .user_ticks = 4, .stack = 8192, .cpu_ns = 40'000'000, .words = "/bin/next"});
  polled.look();
  const auto execs = polled.kept.all<ExecRecord>();
  REQUIRE(execs.size() == 1);
  CHECK(execs[0].total.cpu_ns == 10'000'000);
  CHECK(execs[0].in_doubt.cpu_ns == 30'000'000);
  CHECK(execs[0].text.argv->front() == "/bin/next");
  CHECK(execs[0].identity.comm == "next");
  polled.look();
  CHECK(polled.kept.all<ExecRecord>().size() == 1);
}

TEST_CASE("CPU time of children that were waited for and not seen is said of their parent") {
  FakeProc proc;
  FakeProcess parent{.pid = kFirst, .children_ticks = 500};
  proc.put(parent);
  Polled polled(proc);
  polled.source->start(polled.kept);
  const auto missed_ns = [&] {
    polled.source->snapshots()->snapshot(polled.kept, false);
    return polled.kept.all<ThreadRecord>().back().missed_children_cpu_ns;
  };
  // What was waited for before is nobody's loss.
  CHECK(missed_ns() == 0);
  FakeProcess child{.pid = kFirst - 1, .parent = kFirst, .start_ticks = ticks_now() + 1, .user_ticks = 20};
  proc.put(child);
  polled.look();
  parent.children_ticks += 40;  // Nobody saw these.
  proc.put(parent);
  CHECK(missed_ns() == 40 * tick_ns());
  proc.remove(child.pid);
  parent.children_ticks += 25;  // The child's own, of which 20 were seen.
  proc.put(parent);
  CHECK(missed_ns() == 45 * tick_ns());
  CHECK(polled.kept.all<ThreadRecord>().back().flags.polled);
}

TEST_CASE("CPU time of a child whose end was told before its parent was gone is said of nobody else") {
  FakeProc proc;
  FakeProcess top{.pid = kFirst};
  proc.put(top);
  Polled polled(proc);
  polled.source->start(polled.kept);
  const FakeProcess middle{.pid = kFirst + 1, .parent = kFirst, .start_ticks = ticks_now() + 1};
  FakeProcess worker{.pid = kFirst + 2, .parent = kFirst + 1, .start_ticks = ticks_now() + 1, .user_ticks = 90};
  proc.put(middle);
  proc.put(worker);
  polled.look();
  worker.state = 'Z';
  worker.user_ticks = 100;
  proc.put(worker);
  polled.look();
  REQUIRE(polled.kept.all<ExitRecord>().size() == 1);
  // The one in the middle has waited for it and ended; the top one has waited for that.
  proc.remove(worker.pid);
  proc.remove(middle.pid);
  top.children_ticks = 100;
  proc.put(top);
  polled.source->snapshots()->snapshot(polled.kept, false);
  CHECK(polled.kept.all<ExitRecord>().size() == 2);
  CHECK(polled.kept.all<ThreadRecord>().back().missed_children_cpu_ns == 0);
}

TEST_CASE("what was missed is at most what the kernel counted and nobody saw") {
  FakeProc proc;
  Polled polled(proc);
  CHECK_FALSE(polled.source->counters().missed_at_most.has_value());
  polled.source->start(polled.kept);
  CHECK(polled.source->counters().missed_at_most == 0u);
  proc.set_forks(1010);
  CHECK(polled.source->counters().missed_at_most == 10u);
  proc.put({.start_ticks = ticks_now() + 2, .threads = 3});
  polled.look();
  CHECK(polled.source->counters().missed_at_most == 7u);
  // One that began before the session is in no difference.
  proc.put({.pid = kFirst + 1});
  polled.look();
  CHECK(polled.source->counters().missed_at_most == 7u);
  polled.source->stop();
  polled.source->drain(polled.kept, {});
  proc.set_forks(5000);
  CHECK(polled.source->counters().missed_at_most == 7u);
}

TEST_CASE("beyond its bound processes are counted as lost, and others go on") {
  FakeProc proc;
  for (std::uint32_t i = 0; i < 5; ++i) proc.put({.pid = kFirst + i});
  Polled polled(proc, 3);
  polled.source->start(polled.kept);
  CHECK(polled.kept.all<StartRecord>().size() == 3);
  CHECK(polled.source->counters().losses.at("process_table_full") >= 2);
}

TEST_CASE("ten thousand processes are followed, and their ends seen") {
  FakeProc proc;
  constexpr std::uint32_t kMany = 10'000;
  for (std::uint32_t i = 0; i < kMany; ++i) proc.put({.pid = kFirst + i}, FakeProc::Files::kNeeded);
  Polled polled(proc, 20'000);
  polled.source->start(polled.kept);
  CHECK(polled.kept.all<StartRecord>().size() == kMany);
  for (std::uint32_t i = 0; i < kMany; i += 10) proc.remove(kFirst + i);
  polled.look();
  CHECK(polled.kept.all<ExitRecord>().size() == kMany / 10);
}

TEST_CASE("kernel threads, ended ones and nonsense are not followed") {
  FakeProc proc;
  proc.put({.pid = kFirst, .flags = kKernelThread});
  proc.put({.pid = kFirst + 1, .state = 'Z'});
  proc.put({.pid = kFirst + 2, .comm = ") 1 2 ("});
  Polled polled(proc);
  polled.source->start(polled.kept);
  REQUIRE(polled.kept.all<StartRecord>().size() == 1);
  CHECK(polled.kept.all<StartRecord>()[0].identity.pid == kFirst + 2);
}

TEST_CASE("figures of files that are not there are unknown") {
  FakeProc proc;
  proc.put({.pid = kFirst}, FakeProc::Files::kNeeded);
  Polled polled(proc);
  polled.source->start(polled.kept);
  polled.source->snapshots()->snapshot(polled.kept, false);
  REQUIRE(polled.kept.all<ThreadRecord>().size() == 1);
  const Account account = to_account(polled.kept.all<ThreadRecord>()[0].sum, {});
  CHECK(account.cpu_ns.has_value());
  CHECK(account.minor_faults == 7);
  CHECK_FALSE(account.run_queue_ns.has_value());
  CHECK_FALSE(account.written_bytes.has_value());
  CHECK_FALSE(account.storage_written_bytes.has_value());
}

TEST_CASE("each family that /proc can't give says so") {
  FakeProc proc;
  const Polled polled(proc);
  for (const FamilyState& state : polled.source->families()) {
    const bool seen = state.family == Family::kLifecycle || state.family == Family::kSnapshots;
    CHECK(state.active == seen);
    CHECK(state.problem.has_value() == (state.family != Family::kSnapshots));
  }
}

TEST_CASE("a /proc without the machine's own files is refused") {
  const TempFile empty;
  ProcSourceOptions options;
  options.root = empty.folder().string();
  CHECK_THROWS_AS(proc_source(options), Error);
}

TEST_CASE("looks are rarer the longer nothing comes or goes, and the more expensive they are") {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  PollClock clock(0.02);
  const auto now = PollClock::Clock::now();
  clock.changed(now);
  CHECK(clock.next(now) - now == milliseconds(10));
  CHECK(clock.next(now + seconds(1)) - now - seconds(1) == milliseconds(50));
  CHECK(clock.next(now + seconds(60)) - now - seconds(60) == milliseconds(250));
  clock.cost(milliseconds(1));
  CHECK(clock.next(now) - now == milliseconds(50));
  // One that was expensive once is forgotten after some that were not.
  for (int i = 0; i < 100; ++i) clock.cost(std::chrono::microseconds(10));
  CHECK(clock.next(now) - now == milliseconds(10));
}
