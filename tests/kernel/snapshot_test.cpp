// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/summary.hpp>

#include "capture.hpp"
#include "ledger_expect.hpp"
#include "storage.hpp"
#include "truth.hpp"

namespace {

constexpr double kMiB = 1 << 20;

tracer::SessionOptions every_100_ms() {
  tracer::SessionOptions options;
  options.sample_interval = std::chrono::milliseconds(100);
  return options;
}

/// An emulated machine takes as much longer for a snapshot, and the next one waits the longer.
std::string hold_ms(int ms) { return std::to_string(::getenv("TRACER_EMULATED") != nullptr ? 3 * ms : ms); }

std::size_t children_of(pid_t pid) {
  const std::string name = std::to_string(pid);
  std::ifstream file("/proc/" + name + "/task/" + name + "/children");
  return static_cast<std::size_t>(std::distance(std::istream_iterator<pid_t>(file), {}));
}

/// Asks again and again; false: not within a minute.
template <class Condition>
bool comes_true(const Condition& condition) {
  for (int round = 0; round < 6000; ++round) {
    if (condition()) return true;
    ::usleep(10'000);
  }
  return false;
}

double task_peak_bytes(const Capture& capture) {
  tracer::Summary summary;
  for (const tracer::Event& event : capture.events) summary.add(event);
  REQUIRE(summary.total().task_peak_bytes.has_value());
  return static_cast<double>(*summary.total().task_peak_bytes);
}

/// What 60 MiB more that are mapped in common add: without what each process holds of this program.
double mapped_bytes(const std::vector<std::string>& how) {
  const auto peak = [&](const char* mib) {
    std::vector<std::string> arguments{mib};
    arguments.insert(arguments.end(), how.begin(), how.end());
    return task_peak_bytes(trace(truth::call("hold_mapped", arguments), every_100_ms()));
  };
  // Enough for shares to be read: of this program's own pages both then count each once, however many there are.
  const double with_ten = peak("10");
  CHECK(with_ten >= 10 * kMiB);
  CHECK(with_ten <= 15 * kMiB);
  return peak("70") - with_ten;
}

}  // namespace

TEST_CASE("a snapshot tells what a process holds, and what it is at" * doctest::test_suite("waits essential")) {
  const Capture capture = trace(truth::call("hold_memory", {"64", hold_ms(3000)}), every_100_ms());
  std::size_t seen = 0;
  for (const auto& sample : capture.all<tracer::ProcessSample>()) {
    REQUIRE(sample.rss_anonymous_bytes.has_value());
    if (static_cast<double>(*sample.rss_anonymous_bytes) < 64 * kMiB || sample.state != "sleeping") continue;
    ++seen;
    CHECK(static_cast<double>(*sample.rss_anonymous_bytes) <= 1.05 * 64 * kMiB);
    CHECK(sample.rss_file_bytes.value_or(0) + sample.rss_shared_bytes.value_or(0) > 0);
    // Of a program that lies in memory itself, as on an emulated machine, its own pages are shared memory.
    if (::getenv("TRACER_EMULATED") == nullptr) CHECK(sample.rss_shared_bytes == 0u);
    CHECK(sample.threads == 1);
    CHECK_FALSE(sample.pss_bytes.has_value());
  }
  CHECK(seen >= 2);
}

TEST_CASE("the ledger of a snapshot grows with the wall time, and names what it waits for just now" *
          doctest::test_suite("waits")) {
  const Capture capture = trace(truth::call("hold_memory", {"1", hold_ms(3000)}), every_100_ms());
  std::uint64_t before_ns = 0;
  bool asleep = false;
  for (const auto& sample : capture.all<tracer::ProcessSample>()) {
    const tracer::Ledger ledger = expect::known(sample.account.ledger);
    CHECK(ledger.wall_ns > before_ns);
    before_ns = ledger.wall_ns;
    asleep = asleep || ledger.sleep_ns >= 200'000'000;
  }
  CHECK(asleep);
}

TEST_CASE("a task's peak is what its processes hold at once" * doctest::test_suite("waits native")) {
  const Capture capture = trace(truth::call("hold_in_two_children", {hold_ms(3000)}), every_100_ms());
  // Besides, each of the three holds a few pages of this program.
  CHECK(std::abs(task_peak_bytes(capture) - 250 * kMiB) <= 0.02 * 250 * kMiB);
}

TEST_CASE("memory that forks share is counted once" * doctest::test_suite("waits native")) {
  const Capture capture = trace(truth::call("hold_shared", {"200", "5", hold_ms(3000)}), every_100_ms());
  CHECK(std::abs(task_peak_bytes(capture) - 200 * kMiB) <= 0.02 * 200 * kMiB);
}

TEST_CASE("memory that is mapped in common is counted once, by forks" * doctest::test_suite("waits native")) {
  CHECK(std::abs(mapped_bytes({"4", hold_ms(3000)}) - 60 * kMiB) <= 0.02 * 60 * kMiB);
}

TEST_CASE("memory that is mapped in common is counted once, by programs of their own" * doctest::test_suite("waits")) {
  CHECK(std::abs(mapped_bytes({"4", hold_ms(3000), "exec"}) - 60 * kMiB) <= 0.02 * 60 * kMiB);
}

TEST_CASE("memory that a grandchild shares past its parent's end is counted once" *
          doctest::test_suite("waits native")) {
  const Capture capture = trace(truth::call("hold_past_child", {"200", hold_ms(3000)}), every_100_ms());
  CHECK(std::abs(task_peak_bytes(capture) - 200 * kMiB) <= 0.02 * 200 * kMiB);
}

TEST_CASE("forks that lived before share, too" * doctest::test_suite("waits native")) {
  int until[2];
  REQUIRE(::pipe2(until, O_CLOEXEC) == 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(until[0], STDIN_FILENO);
    truth::execute(truth::call("hold_shared", {"200", "5", "until_told"}));
  }
  ::close(until[0]);
  REQUIRE(comes_true([pid] { return children_of(pid) == 5; }));
  tracer::SessionOptions options = every_100_ms();
  options.filter.include_tree(pid);
  tracer::Session session(std::move(options));
  tracer::Summary summary;
  std::atomic<int> samples = 0;
  const auto all = session.on_any([&](const tracer::Event& event) {
    summary.add(event);
    if (event.kind() == tracer::EventKind::kProcessSample) ++samples;
  });
  session.start();
  // Two snapshots of the six.
  const bool sampled = comes_true([&samples] { return samples >= 12; });
  ::close(until[1]);
  REQUIRE(::waitpid(pid, nullptr, 0) == pid);
  session.stop();
  CHECK(sampled);
  REQUIRE(summary.total().task_peak_bytes.has_value());
  CHECK(std::abs(static_cast<double>(*summary.total().task_peak_bytes) - 200 * kMiB) <= 0.02 * 200 * kMiB);
}

TEST_CASE("what a first thread consumed that has ended is in the samples" * doctest::test_suite("waits native")) {
  const Capture capture = trace(truth::call("first_thread_gone", {hold_ms(4000)}), every_100_ms());
  std::size_t seen = 0;
  for (const auto& sample : capture.all<tracer::ProcessSample>()) {
    if (sample.threads != 1u || sample.state != "sleeping") continue;
    ++seen;
    CHECK(sample.account.cpu_ns.value_or(0) >= 60'000'000);
    const tracer::Ledger ledger = expect::known(sample.account.ledger);
    CHECK(ledger.cpu_ns >= 60'000'000);
    CHECK(expect::distance(ledger.wall_ns, ledger.cpu_ns + ledger.run_queue_ns + ledger.sleep_ns) <=
          expect::slack_ns(ledger.wall_ns));
    CHECK(sample.rss_anonymous_bytes.value_or(0) > 0);
  }
  CHECK(seen >= 2);
}

TEST_CASE("many processes of one tool are told together, and one by one at the end" *
          doctest::test_suite("waits native")) {
  const Capture capture = trace(truth::call("sleep_in_children", {"100", hold_ms(5000)}), every_100_ms());
  std::size_t whole = 0;
  for (const auto& folded : capture.all<tracer::ToolSample>()) {
    CHECK(folded.processes > 64);
    CHECK(folded.processes <= 101);
    if (folded.processes < 100) continue;
    ++whole;
    CHECK(folded.threads == folded.processes);
    CHECK(folded.rss_anonymous_bytes.value_or(0) > 0);
    CHECK(folded.held_bytes.value_or(0) > *folded.rss_anonymous_bytes);
    CHECK(expect::known(folded.account.ledger).wall_ns > 0);
    for (const auto& sample : capture.all<tracer::ProcessSample>())
      if (sample.time_ns == folded.time_ns) CHECK(sample.process->program->tool != folded.tool);
  }
  CHECK(whole >= 1);
}

TEST_CASE("what the kernel charges to a cgroup is explained by its processes, its page cache and the kernel" *
          doctest::test_suite("waits")) {
  const auto cgroup = LimitedCgroup::make("memory");
  if (!cgroup) {
    MESSAGE("SKIP: no cgroup with a memory of its own can be made here");
    return;
  }
  const Capture capture =
      trace(truth::call("wait", {"in_cgroup", cgroup->procs(), "hold_memory", "100", hold_ms(4000)}), every_100_ms());
  const std::string name = cgroup->folder().substr(cgroup->folder().rfind('/'));
  tracer::Summary summary;
  for (const tracer::Event& event : capture.events) summary.add(event);
  std::optional<tracer::CgroupMemory> found;
  for (const tracer::CgroupMemory& each : summary.cgroups())
    if (each.highest.cgroup->path.value_or("").ends_with(name)) found = each;
  REQUIRE(found.has_value());
  CHECK(found->followed_wholly);
  CHECK(found->highest.processes == 1);
  CHECK(static_cast<double>(found->peak_bytes) >= 100 * kMiB);
  CHECK(static_cast<double>(found->peak_bytes) <= 1.1 * 100 * kMiB);
  REQUIRE(found->highest.memory_bytes.has_value());
  REQUIRE(found->highest.held_bytes.has_value());
  CHECK(std::abs(static_cast<double>(*found->highest.held_bytes) - 100 * kMiB) <= 0.02 * 100 * kMiB);
  REQUIRE(found->highest.unexplained_bytes.has_value());
  CHECK(static_cast<double>(*found->highest.unexplained_bytes) <= 0.05 * 100 * kMiB);
}

TEST_CASE("the limit on CPU time of a cgroup, and how long it held it back, are reported, of version 1, too") {
  const auto memory = LimitedCgroup::make("memory");
  auto above = LimitedCgroup::make("cpu");
  const auto below = above && above->is_v1() ? above->make_below("cpu") : std::nullopt;
  // Half of one CPU above, a quarter of one below.
  if (!memory || !below || !memory->is_v1() || !above->limit("cpu.cfs_quota_us", "50000") ||
      !below->limit("cpu.cfs_period_us", "40000") || !below->limit("cpu.cfs_quota_us", "10000")) {
    MESSAGE("SKIP: no limit on CPU time of version 1 here");
    return;
  }
  // A share that it is given however busy the machine is.
  REQUIRE(below->limit("cpu.cfs_quota_us", "1000"));
  trace(truth::call("wait", {"in_cgroup", below->procs(), "burn", "10"}));
  REQUIRE(below->limit("cpu.cfs_quota_us", "10000"));
  const auto throttled_ns = below->number("cpu.stat", "throttled_time");
  REQUIRE(throttled_ns.value_or(0) > 0);
  for (const bool limited : {true, false}) {
    CAPTURE(limited);
    std::vector<std::string> words = {"in_cgroup", memory->procs()};
    if (limited) words.insert(words.end(), {"in_cgroup", below->procs()});
    words.insert(words.end(), {"sleep", hold_ms(2500)});
    const Capture capture = trace(truth::call("wait", words), every_100_ms());
    REQUIRE(capture.status == 0);
    // One that sleeps is not held back again.
    REQUIRE(below->number("cpu.stat", "throttled_time") == throttled_ns);
    const std::string name = memory->folder().substr(memory->folder().rfind('/'));
    std::size_t seen = 0;
    for (const auto& sample : capture.all<tracer::CgroupSample>()) {
      if (!sample.cgroup->path.value_or("").ends_with(name)) continue;
      ++seen;
      CHECK(sample.cpu_limit_millicpus == (limited ? std::optional<std::uint64_t>(250) : std::nullopt));
      CHECK(sample.throttled_ns == (limited ? throttled_ns : std::nullopt));
    }
    CHECK(seen >= 1);
  }
}

TEST_CASE("a process that is moved is its new cgroup's from the next snapshot on" *
          doctest::test_suite("waits native")) {
  const auto cgroup = LimitedCgroup::make("memory");
  if (!cgroup) {
    MESSAGE("SKIP: no cgroup with a memory of its own can be made here");
    return;
  }
  const std::string name = cgroup->folder().substr(cgroup->folder().rfind('/'));
  const Capture capture =
      trace(truth::call("wait", {"move_and_sleep", cgroup->procs(), hold_ms(4000)}), every_100_ms());
  std::size_t seen = 0;
  for (const auto& sample : capture.all<tracer::CgroupSample>())
    if (sample.cgroup->path.value_or("").ends_with(name)) seen += sample.followed_processes == 1u ? 1 : 0;
  CHECK(seen >= 2);
  for (const auto& sample : capture.all<tracer::ProcessSample>())
    if (sample.account.ledger && sample.account.ledger->sleep_ns > 300'000'000)
      CHECK(sample.process->cgroup->path.value_or("").ends_with(name));
}

TEST_CASE("progress is where the program has come to") {
  char path[] = "/tmp/tracer-progress-XXXXXX";
  const int fd = ::mkstemp(path);
  REQUIRE(fd >= 0);
  constexpr double kSize = 100e6;
  REQUIRE(::ftruncate(fd, static_cast<off_t>(kSize)) == 0);
  ::close(fd);
  const Capture capture = trace(truth::call("read_at_pace", {path, hold_ms(5000)}), every_100_ms());
  ::unlink(path);

  std::map<std::uint64_t, double> truth;
  std::istringstream lines(capture.output);
  for (std::uint64_t time_ns = 0, position = 0; lines >> time_ns >> position;)
    truth[time_ns] = static_cast<double>(position);
  REQUIRE(truth.size() == 100);
  std::size_t compared = 0;
  std::size_t rated = 0;
  for (const auto& sample : capture.all<tracer::ProcessSample>()) {
    if (!sample.progress) continue;
    const tracer::Progress& progress = *sample.progress;
    CHECK(progress.file == std::string(path).substr(5));
    CHECK(progress.size_bytes == static_cast<std::uint64_t>(kSize));
    // A snapshot is taken within a moment of its time, in which the program may go on by a step or two.
    const auto after = truth.upper_bound(sample.time_ns);
    if (after == truth.begin() || after == truth.end()) continue;
    ++compared;
    CHECK(std::abs(static_cast<double>(progress.position_bytes) - after->second) <= 0.02 * kSize);
    if (!progress.time_left_ns) continue;
    ++rated;
    const double left = static_cast<double>(progress.size_bytes - progress.position_bytes);
    CHECK(std::abs(static_cast<double>(*progress.time_left_ns) -
                   left / static_cast<double>(*progress.bytes_per_s) * 1e9) <= 1e7);
  }
  CHECK(compared >= 3);
  CHECK(rated >= 2);
}

TEST_CASE("families that are not asked for are not there, the others are" * doctest::test_suite("waits native")) {
  tracer::SessionOptions options;
  options.families = {};
  const Capture bare = trace(truth::call("hold_memory", {"1", "300"}), options);
  CHECK_FALSE(bare.exit().account.ledger.has_value());
  CHECK(bare.all<tracer::ProcessSample>().empty());
  CHECK(bare.exit().account.cpu_ns.has_value());
  options.families = {tracer::Family::kSnapshots};
  options.sample_interval = std::chrono::milliseconds(100);
  const Capture snapshots = trace(truth::call("hold_memory", {"1", hold_ms(1500)}), options);
  CHECK_FALSE(snapshots.exit().account.ledger.has_value());
  CHECK_FALSE(snapshots.all<tracer::ProcessSample>().empty());
}

TEST_CASE("each family that was asked for says that it is there, or why not" * doctest::test_suite("waits")) {
  tracer::Session session{tracer::SessionOptions{}};
  const auto families = session.families();
  REQUIRE(families.size() == 1 + tracer::default_families().size());
  for (const tracer::FamilyState& state : families) {
    CAPTURE(to_string(state.family));
    CAPTURE(state.problem.value_or(tracer::Problem{}).what);
    CAPTURE(state.problem.value_or(tracer::Problem{}).detail);
    // Tracepoints sock_send_length and sock_recv_length are newer.
    if (state.family == tracer::Family::kNetwork && !kernel_at_least(6, 3)) {
      CHECK_FALSE(state.active);
      CHECK(state.problem.has_value());
      continue;
    }
    CHECK(state.active);
    CHECK_FALSE(state.mechanism.empty());
    CHECK_FALSE(state.problem.has_value());
  }
}
