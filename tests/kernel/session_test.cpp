// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <doctest/doctest.h>

#include <tracer/check.hpp>
#include <tracer/recording.hpp>
#include <tracer/summary.hpp>

#include "capture.hpp"
#include "held.hpp"
#include "truth.hpp"

namespace {

bool emulated() { return ::getenv("TRACER_EMULATED") != nullptr; }

/// A `hold` program that has burned its CPU time and now waits for release(); then it has that many children.
Held start_held(const char* burn_us, const char* children = "0") {
  return hold(truth::call("hold", {burn_us, children}));
}

}  // namespace

TEST_CASE("this kernel can be traced" * doctest::test_suite("waits essential")) {
  const tracer::CheckReport report = tracer::check();
  for (const auto& item : report.items)
    if (item.required) CHECK_MESSAGE(item.available, item.name);
}

TEST_CASE("a storm of processes is seen whole" * doctest::test_suite("native")) {
  const std::string count = emulated() ? "500" : "20000";
  const Capture capture = trace(truth::call("many_spawns", {count}));
  CHECK(capture.status == 0);
  CHECK(capture.statistics.lost() == 0);
  CHECK(capture.other_exits().size() == std::stoul(count));
  REQUIRE(capture.totals.size() == 1);
  CHECK(capture.totals[0].ended == std::stoul(count) + 1);
  CHECK(capture.totals[0].living == 0);
}

TEST_CASE("with a tiny ring events are lost and counted, and the sums are still right" *
          doctest::test_suite("native")) {
  tracer::SessionOptions options;
  options.ring_bytes = 4096;
  options.reader = tracer::ReaderMode::kPoll;  // Nobody polls until the end.
  const Capture capture = trace(truth::call("many_forks", {"400"}), std::move(options));
  REQUIRE(capture.totals.size() == 1);
  CHECK(capture.totals[0].ended == 401);
  // 0 is the status of 2 of the 400 (0 and 256), and of the parent.
  CHECK(capture.totals[0].failed == 398);
  const auto exits = capture.all<tracer::ProcessExit>().size();
  const auto& losses = capture.statistics.losses;
  REQUIRE(losses.contains("ring_full_process_exit"));
  CHECK(losses.at("ring_full_process_exit") + exits == 401);
  // wait4's usage has that of the children that were waited for in it: these are all processes of the context.
  const std::uint64_t all = capture.totals[0].account.cpu_ns.value_or(0);
  const std::uint64_t truth = cpu_ns_of(capture.usage);
  CHECK((all > truth ? all - truth : truth - all) <= 401 * (emulated() ? 250'000u : 50'000u));
  CHECK(capture.totals[0].account.written_bytes == 0u);
  std::uint64_t told = 0;
  for (const auto& loss : capture.all<tracer::Loss>()) told += loss.count;
  CHECK(told == capture.statistics.lost());
}

TEST_CASE("memory does not grow with the number of processes" * doctest::test_suite("native")) {
  const auto resident_pages = [] {
    std::ifstream file("/proc/self/statm");
    std::uint64_t total = 0;
    std::uint64_t resident = 0;
    file >> total >> resident;
    return resident;
  };
  const std::string count = emulated() ? "300" : "4000";
  const int repeats = emulated() ? 2 : 8;
  const Held held = start_held("0");
  tracer::SessionOptions options;
  options.filter.include_tree(::getpid());
  const std::uint64_t ring_bytes = options.ring_bytes;
  tracer::Session session(std::move(options));
  tracer::Summary summary;
  const auto subscription = session.on_any([&](const tracer::Event& event) { summary.add(event); });
  session.start();
  const auto fork_many = [&] {
    const pid_t pid = ::fork();
    if (pid == 0) truth::execute(truth::call("many_forks", {count}));
    REQUIRE(::waitpid(pid, nullptr, 0) == pid);
  };
  const int first = emulated() ? 1 : 3;
  for (int n = 0; n < first; ++n) fork_many();
  const std::uint64_t before = resident_pages();
  for (int n = 0; n < repeats; ++n) fork_many();
  const std::uint64_t after = resident_pages();
  session.stop();
  release(held);
  CHECK(summary.exits() >= static_cast<std::uint64_t>(repeats + first) * std::stoul(count));
  // Pages of the ring that are met for the first time come in late; 40 bytes for each process would show.
  const std::uint64_t ring_pages = ring_bytes / static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  CHECK(after <= before + ring_pages + before / 100);
}

TEST_CASE("the kernel's sums are the sums of the events" * doctest::test_suite("waits")) {
  const Capture capture = trace(truth::call("many_spawns", {"50"}));
  std::uint64_t cpu_ns = 0;
  std::uint64_t faults = 0;
  for (const auto& exit : capture.all<tracer::ProcessExit>()) {
    cpu_ns += exit.account.cpu_ns.value_or(0);
    faults += exit.account.minor_faults.value_or(0);
  }
  REQUIRE(capture.totals.size() == 1);
  CHECK(capture.totals[0].account.cpu_ns == cpu_ns);
  CHECK(capture.totals[0].account.minor_faults == faults);
  CHECK(capture.totals[0].failed == 0);
}

TEST_CASE("a process that lived before carries the totals of its whole life" *
          doctest::test_suite("essential sanitized")) {
  const Held held = start_held("60000");
  tracer::SessionOptions options;
  options.filter.include_tree(held.pid, {.step = "held"});
  tracer::Session session(std::move(options));
  std::vector<tracer::ProcessStart> starts;
  std::vector<tracer::ProcessExit> exits;
  const auto on_start = session.on<tracer::ProcessStart>([&](const auto& event) { starts.push_back(event); });
  const auto on_exit = session.on<tracer::ProcessExit>([&](const auto& event) { exits.push_back(event); });
  session.start();
  const auto living = session.living();
  REQUIRE(living.size() == 1);
  CHECK(living[0].process->pid == static_cast<std::uint32_t>(held.pid));
  CHECK(living[0].account.cpu_ns.value_or(0) >= 50'000'000u);
  const rusage usage = release(held);
  session.stop();
  REQUIRE(starts.size() == 1);
  CHECK(starts[0].attached_ns.has_value());
  CHECK(starts[0].process->context->step == "held");
  REQUIRE(starts[0].process->program->argv.has_value());
  CHECK((*starts[0].process->program->argv)[2] == "hold");
  REQUIRE(exits.size() == 1);
  CHECK(exits[0].attached_ns == starts[0].attached_ns);
  const std::uint64_t seen = exits[0].account.cpu_ns.value_or(0);
  const std::uint64_t told = cpu_ns_of(usage);
  CHECK((seen > told ? seen - told : told - seen) <= 50'000u);
}

TEST_CASE("threads that end while their process is taken in are in its account once") {
  const Held other = start_held("1000");
  tracer::SessionOptions options;
  options.filter.include_tree(other.pid);
  tracer::Session session(std::move(options));
  std::map<std::uint32_t, std::uint64_t> seen;
  const auto on_exit = session.on<tracer::ProcessExit>(
      [&](const auto& event) { seen[event.process->pid] = event.account.minor_faults.value_or(0); });
  session.start();
  for (int n = 0; n < 30; ++n) {
    // Each of them has 256 page faults or more.
    const Held held = hold(truth::call("threads_that_end"));
    session.track(held.pid);
    const auto told = static_cast<std::uint64_t>(release(held).ru_minflt);
    REQUIRE(session.flush(std::chrono::seconds(10)));
    REQUIRE(seen.count(static_cast<std::uint32_t>(held.pid)) == 1);
    const std::uint64_t found = seen[static_cast<std::uint32_t>(held.pid)];
    CAPTURE(told);
    CHECK(found + 100 >= told);
    CHECK(found <= told + 100);
  }
  session.stop();
  release(other);
}

// On one CPU of a kernel that can preempt anything (VMTEST_APPEND=preempt=full), some are taken off the CPU by the exec
// that they wake, before their last switch.
TEST_CASE("threads that an exec has just ended are once in the account, also where the exec takes the process in") {
  constexpr uid_t kUid = 64003;
  struct stat own {};
  if (::stat("/proc/self/exe", &own) != 0 || (own.st_mode & S_IXOTH) == 0) {
    MESSAGE("SKIP: other users may not execute these tests");
    return;
  }
  for (const bool followed : {false, true}) {
    CAPTURE(followed);
    tracer::SessionOptions options;
    if (followed) {
      options.filter.include_tree(::getpid());
    } else {
      options.filter.include_uid(kUid);
    }
    tracer::Session session(std::move(options));
    std::map<std::uint32_t, tracer::ProcessExit> exits;
    const auto on_exit =
        session.on<tracer::ProcessExit>([&](const auto& event) { exits.emplace(event.process->pid, event); });
    session.start();
    for (int n = 0; n < 50; ++n) {
      const pid_t pid = ::fork();
      if (pid == 0) truth::execute(truth::call("exec_as", {std::to_string(kUid), "8"}));
      int status = -1;
      rusage usage{};
      REQUIRE(::wait4(pid, &status, 0, &usage) == pid);
      REQUIRE(status == 0);
      REQUIRE(session.flush(std::chrono::seconds(10)));
      REQUIRE(exits.count(static_cast<std::uint32_t>(pid)) == 1);
      const tracer::ProcessExit& exit = exits.at(static_cast<std::uint32_t>(pid));
      CHECK(exit.attached_ns.has_value() != followed);
      const std::uint64_t found = exit.account.minor_faults.value_or(0);
      const auto told = static_cast<std::uint64_t>(usage.ru_minflt);
      CHECK(found + 100 >= told);
      CHECK(found <= told + 100);
    }
  }
}

TEST_CASE("what still lives at the end is sampled, and left alone" *
          doctest::test_suite("waits native essential sanitized")) {
  const Held held = start_held("20000");
  tracer::SessionOptions options;
  options.filter.include_tree(held.pid);
  options.families = {tracer::Family::kWaits};
  tracer::Session session(std::move(options));
  std::vector<tracer::ProcessSample> samples;
  bool ended = false;
  const auto on_sample = session.on<tracer::ProcessSample>([&](const auto& event) { samples.push_back(event); });
  const auto on_end = session.on<tracer::SessionEnd>([&](const auto&) { ended = true; });
  session.start();
  session.stop();
  REQUIRE(samples.size() == 1);
  CHECK(ended);
  CHECK(samples[0].process->pid == static_cast<std::uint32_t>(held.pid));
  release(held);
}

TEST_CASE("a callback may ask what lives, and no event comes twice" * doctest::test_suite("waits native")) {
  const Held held = start_held("1000");
  tracer::SessionOptions options;
  options.filter.include_tree(::getpid());
  options.sample_interval = std::chrono::milliseconds(100);
  tracer::Session session(std::move(options));
  std::map<std::uint32_t, int> starts;
  std::map<std::uint32_t, int> exits;
  std::atomic<std::size_t> most_living{0};
  const auto on_start = session.on<tracer::ProcessStart>([&](const auto& event) {
    ++starts[event.process->pid];
    CHECK(event.process->program->exe.has_value());
    most_living = std::max(most_living.load(), session.living().size());
  });
  const auto on_exit = session.on<tracer::ProcessExit>([&](const auto& event) {
    ++exits[event.process->pid];
    session.living();
  });
  session.start();
  for (int i = 0; i < 50; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(0);
    REQUIRE(::waitpid(pid, nullptr, 0) == pid);
  }
  while (most_living < 2) ::usleep(1000);  // This process and the held one live until then.
  release(held);
  session.stop();
  CHECK(session.statistics().lost() == 0);
  CHECK(most_living >= 2);
  CHECK(exits.size() == 51);
  for (const auto& [pid, count] : starts) CHECK(count == 1);
  for (const auto& [pid, count] : exits) CHECK(count == 1);
}

namespace {

/// By pid, the step that a process's exit says.
class Steps {
 public:
  explicit Steps(tracer::Session& session)
      : subscription_(session.on<tracer::ProcessExit>([this](const tracer::ProcessExit& exit) {
          steps_[static_cast<pid_t>(exit.process->pid)] = exit.process->context->step.value_or("none");
        })) {}
  const std::string& operator[](pid_t pid) { return steps_[pid]; }
  std::size_t count(const std::string& step) const {
    return static_cast<std::size_t>(
        std::count_if(steps_.begin(), steps_.end(), [&](const auto& each) { return each.second == step; }));
  }

 private:
  std::map<pid_t, std::string> steps_;
  tracer::Subscription subscription_;
};

/// The ended processes of each step, as the kernel counts them.
std::map<std::string, std::uint64_t> ended_by_step(const tracer::Session& session) {
  std::map<std::string, std::uint64_t> ended;
  for (const auto& totals : session.totals()) ended[totals.context.step.value_or("none")] += totals.ended;
  return ended;
}

}  // namespace

TEST_CASE("children inherit labels, and trees keep apart" * doctest::test_suite("waits native essential sanitized")) {
  const Held first = start_held("0", "5");
  const Held second = start_held("0", "3");
  tracer::SessionOptions options;
  options.filter.include_tree(first.pid, {.step = "one"}).include_tree(second.pid, {.step = "two"});
  tracer::Session session(std::move(options));
  Steps steps(session);
  session.start();
  release(first);
  release(second);
  session.stop();
  CHECK(steps[first.pid] == "one");
  CHECK(steps[second.pid] == "two");
  CHECK(steps.count("one") == 6);
  CHECK(steps.count("two") == 4);
  CHECK(ended_by_step(session) == std::map<std::string, std::uint64_t>{{"one", 6}, {"two", 4}});
}

TEST_CASE("a tree that is tracked again has the new labels, its living descendants too, in events and totals" *
          doctest::test_suite("waits native essential sanitized")) {
  const Held held = start_held("0", "2");
  const Held other = start_held("0");
  tracer::SessionOptions options;
  options.filter.include_tree(::getpid(), {.step = "all"});
  tracer::Session session(std::move(options));
  Steps steps(session);
  session.start();
  session.track(::getpid(), {.step = "again"});
  session.track(held.pid, {.step = "own"});
  release(held);
  release(other);
  session.stop();
  CHECK(steps[other.pid] == "again");
  CHECK(steps[held.pid] == "own");
  CHECK(steps.count("own") == 3);
  auto ended = ended_by_step(session);
  CHECK(ended["all"] == 0);
  CHECK(ended["again"] == 1);
  CHECK(ended["own"] == 3);
}

TEST_CASE("a tree that is tracked before the start is taken in with that" * doctest::test_suite("waits native")) {
  const Held held = start_held("0", "2");
  const Held gone = start_held("0");
  tracer::SessionOptions options;
  options.filter.include_tree(::getpid(), {.step = "all"});
  tracer::Session session(std::move(options));
  Steps steps(session);
  session.track(gone.pid, {.step = "gone"});
  session.track(held.pid, {.step = "own"});
  CHECK_THROWS_AS(session.track(4'194'304), tracer::Error);
  release(gone);
  session.start();
  release(held);
  session.stop();
  CHECK(steps[held.pid] == "own");
  CHECK(steps.count("own") == 3);
  CHECK(steps.count("gone") == 0);
}

TEST_CASE("record, then replay, gives the same events" * doctest::test_suite("waits native essential sanitized")) {
  const auto file = std::filesystem::temp_directory_path() / ("tracer_replay." + std::to_string(::getpid()));
  std::vector<std::string> live;
  {
    const Held held = start_held("1000");
    tracer::SessionOptions options;
    options.filter.include_tree(held.pid);
    tracer::Session session(std::move(options));
    session.add_sink(tracer::recording_sink(file, session.host()));
    const auto all = session.on_any([&](const tracer::Event& event) { live.push_back(to_json(event)); });
    session.start();
    release(held);
    session.stop();
  }
  std::vector<std::string> replayed;
  tracer::RecordingReader reader(file);
  while (const auto event = reader.next()) replayed.push_back(to_json(*event));
  CHECK(!reader.damage().any());
  CHECK(replayed == live);
  std::filesystem::remove(file);
}
