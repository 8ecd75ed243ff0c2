// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "capture.hpp"
#include "ledger_expect.hpp"
#include "storage.hpp"
#include "truth.hpp"

namespace {

/// To a fifth of one CPU.
bool limit_cpu(const LimitedCgroup& cgroup) {
  return cgroup.is_v1() ? cgroup.limit("cpu.cfs_quota_us", "20000") : cgroup.limit("cpu.max", "20000 100000");
}

/// One with such a limit; absent, and said: this machine gives none.
std::optional<LimitedCgroup> limited_cgroup() {
  auto cgroup = LimitedCgroup::make("cpu");
  if (cgroup && limit_cpu(*cgroup)) return cgroup;
  MESSAGE("SKIP: no limit on CPU time here");
  return std::nullopt;
}

/// As the cgroup counts it, over all CPUs.
std::uint64_t throttled_by(const LimitedCgroup& cgroup) {
  const auto told =
      cgroup.is_v1() ? cgroup.number("cpu.stat", "throttled_time") : cgroup.number("cpu.stat", "throttled_usec");
  REQUIRE(told.has_value());
  return *told * (cgroup.is_v1() ? 1 : 1000);
}

}  // namespace

TEST_CASE("what a limit on CPU time holds back is throttled, as the cgroup itself counts it") {
  const auto cgroup = limited_cgroup();
  if (!cgroup) return;
  const Capture capture = trace(truth::call("wait", {"in_cgroup", cgroup->procs(), "burn", "200"}));
  expect::sound(capture);
  const std::uint64_t truth_ns = throttled_by(*cgroup);
  CHECK(truth_ns >= 500 * expect::kMillisecond);
  if (const auto ledger = expect::program_ledger(capture)) expect::throttled(*ledger, truth_ns);
}

TEST_CASE("a process with several threads is throttled while all that want a CPU are held back") {
  for (const bool one_cpu : {true, false}) {
    CAPTURE(one_cpu);
    const auto cgroup = limited_cgroup();
    if (!cgroup) return;
    const char* burn = one_cpu ? "burn_by_two_on_one_cpu" : "burn_by_two";
    const Capture capture = trace(truth::call("wait", {"in_cgroup", cgroup->procs(), burn, "100"}));
    expect::sound(capture);
    const std::uint64_t truth_ns = throttled_by(*cgroup);
    CHECK(truth_ns >= 300 * expect::kMillisecond);
    const tracer::ProcessLedger whole = capture.exit().account.process_ledger.value();
    CAPTURE(truth_ns);
    CAPTURE(whole.life_ns);
    CAPTURE(whole.run_queue_ns);
    REQUIRE(whole.throttled_ns.has_value());
    // Beside others that want the CPU some of its queue counts as held back: what another of its threads has told.
    const std::uint64_t most = truth_ns / 10 + expect::slack_ns(0);
    CHECK(*whole.throttled_ns <= truth_ns + most);
    // The cgroup counts each CPU, and the process is held back while no CPU is left to it.
    if (one_cpu)
      CHECK(*whole.throttled_ns + most >= truth_ns);
    else
      CHECK(*whole.throttled_ns >= whole.life_ns / 4);
  }
}

TEST_CASE("a limit on a cgroup above throttles, too" * doctest::test_suite("native")) {
  const auto cgroup = limited_cgroup();
  if (!cgroup) return;
  const auto below = cgroup->make_below("cpu");
  REQUIRE(below.has_value());
  const Capture capture = trace(truth::call("wait", {"in_cgroup", below->procs(), "burn", "100"}));
  expect::sound(capture);
  const std::uint64_t truth_ns = throttled_by(*cgroup);
  CHECK(truth_ns >= 200 * expect::kMillisecond);
  if (const auto ledger = expect::program_ledger(capture)) expect::throttled(*ledger, truth_ns);
}

TEST_CASE("of two limits, one above the other, each counts" * doctest::test_suite("native")) {
  const auto cgroup = limited_cgroup();
  if (!cgroup) return;
  const auto below = cgroup->make_below("cpu");
  REQUIRE(below.has_value());
  REQUIRE(limit_cpu(*below));
  // Who reaches it first is chance: together they hold back.
  const Capture capture = trace(truth::call("wait", {"in_cgroup", below->procs(), "burn", "150"}));
  expect::sound(capture);
  const auto ledger = expect::program_ledger(capture);
  if (!ledger) return;
  CHECK(ledger->run_queue_ns <= expect::slack_ns(ledger->wall_ns));
  CHECK(ledger->throttled_ns.value_or(0) >= ledger->wall_ns / 2);
}

TEST_CASE("processes that begin while their cgroup is held back are throttled from the first" *
          doctest::test_suite("native")) {
  const auto cgroup = limited_cgroup();
  if (!cgroup) return;
  const Capture capture = trace(
      truth::call("wait", {"in_cgroup", cgroup->procs(), "processes", "30", "burn", "burn", "burn", "burn", "burn"}));
  expect::sound(capture);
  std::uint64_t sum_ns = capture.exit().account.ledger->throttled_ns.value_or(0);
  for (const auto& exit : capture.other_exits()) sum_ns += exit.account.ledger->throttled_ns.value_or(0);
  const std::uint64_t truth_ns = throttled_by(*cgroup);
  CHECK(truth_ns >= 300 * expect::kMillisecond);
  CHECK(expect::distance(sum_ns, truth_ns) <= truth_ns / 10 + expect::slack_ns(0));
}

TEST_CASE("a frozen cgroup's processes are stopped") {
  const auto frozen = [](const char* how, const LimitedCgroup& cgroup, const std::string& file, const char* freeze,
                         const char* thaw) {
    const Capture capture =
        trace(truth::call("wait", {"frozen", how, cgroup.procs(), cgroup.folder() + file, freeze, thaw, "300"}));
    CAPTURE(how);
    CAPTURE(file);
    expect::sound(capture);
    const auto exits = capture.other_exits();
    REQUIRE(exits.size() == 1);
    std::map<std::string, std::uint64_t> waits = {{"stopped", expect::told(capture).at(0)}};
    if (std::string(how) == "sleep") waits["sleep"] = 200 * expect::kMillisecond;
    expect::waits(exits[0].account.ledger, waits);
  };
  const auto cgroup = LimitedCgroup::make_v2();
  if (cgroup) {
    for (const char* how : {"burn", "sleep"}) frozen(how, *cgroup, "/cgroup.freeze", "1", "0");
  } else {
    MESSAGE("SKIP: no cgroups of version 2 here");
  }
  const auto v1 = LimitedCgroup::make("freezer");
  if (v1) {
    frozen("burn", *v1, "/freezer.state", "FROZEN", "THAWED");
  } else {
    MESSAGE("SKIP: no freezer of version 1 here");
  }
}

TEST_CASE("a process that is moved into a followed cgroup has a ledger from then on" * doctest::test_suite("waits")) {
  const auto cgroup = LimitedCgroup::make("memory");
  if (!cgroup) {
    MESSAGE("SKIP: no cgroup can be made here");
    return;
  }
  int gate[2];
  REQUIRE(::pipe2(gate, O_CLOEXEC) == 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    char go = 0;
    if (::read(gate[0], &go, 1) != 1) ::_exit(96);
    ::usleep(300'000);
    ::_exit(0);
  }
  tracer::SessionOptions options;
  options.filter.include_cgroup(cgroup->folder());
  tracer::Session session(std::move(options));
  std::vector<tracer::ProcessExit> exits;
  const auto on_exit = session.on<tracer::ProcessExit>([&](const auto& exit) { exits.push_back(exit); });
  session.start();
  ::usleep(100'000);
  REQUIRE(cgroup->take(pid));
  ::usleep(200'000);
  REQUIRE(::write(gate[1], "g", 1) == 1);
  REQUIRE(::waitpid(pid, nullptr, 0) == pid);
  session.stop();
  ::close(gate[0]);
  ::close(gate[1]);
  REQUIRE(exits.size() == 1);
  const tracer::Ledger ledger = expect::known(exits[0].account.ledger);
  REQUIRE(exits[0].attached_ns.has_value());
  CHECK(expect::distance(ledger.wall_ns, exits[0].end_ns - *exits[0].attached_ns) <= expect::kMillisecond);
  const std::uint64_t sleep_ns = 300 * expect::kMillisecond;
  CHECK(expect::distance(ledger.sleep_ns, sleep_ns) <= expect::slack_ns(sleep_ns) + ledger.run_queue_ns);
  const std::uint64_t pipe_ns = 200 * expect::kMillisecond;
  CHECK(ledger.pipe_read_ns + expect::slack_ns(pipe_ns) >= pipe_ns);
  CHECK(ledger.pipe_read_peer_pid.value_or(0) == static_cast<std::uint32_t>(::getpid()));
  expect::sums(ledger);
}
