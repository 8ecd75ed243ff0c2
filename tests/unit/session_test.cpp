// SPDX-License-Identifier: Apache-2.0
#include <tracer/session.hpp>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <doctest/doctest.h>

#include <tracer/source.hpp>
#include <tracer/testing.hpp>

#include "collect.hpp"
#include "sample_events.hpp"
#include "temp_file.hpp"

using namespace tracer;
using collect::Polled;
using testing::FakeSource;
using wire::Who;

namespace {

const Who kWho{.pid = 42, .start_ns = 1000, .comm = "sh"};

std::size_t thread_count() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

/// The life of a process in three records.
void push_life(FakeSource& source, std::uint32_t pid) {
  const Who who{.pid = pid, .start_ns = pid * 10ull};
  collect::push(source, wire::start_record(who));
  collect::push(source, wire::exec_record(who, {.time_ns = who.start_ns + 1, .program_start_ns = who.start_ns}));
  collect::push(source, wire::exit_record(who, {.time_ns = who.start_ns + 2, .program_start_ns = who.start_ns + 1}));
}

/// A source that knows sums and living processes, as the kernel's does.
class CountingSource final : public Source {
 public:
  explicit CountingSource(std::atomic<int>* tracked = nullptr) : tracked_(tracked) {}
  void start(Receiver& receiver) override {
    receiver.on_record(wire::start_record(kWho, TRACER_FLAG_ADOPTED_LIFE, 5000));
  }
  int fd() const noexcept override { return -1; }
  void poll(Receiver&) override {}
  bool finished() const noexcept override { return false; }
  void stop() override {}
  void sample(Receiver& receiver) override {
    receiver.on_record(wire::thread_record(kWho, {.time_ns = 6000, .tid = 42, .own = wire::counted(2)}));
  }
  void track(pid_t pid, std::uint32_t context_id, Receiver& receiver) override {
    *tracked_ = pid;
    receiver.on_record(
        wire::start_record({.pid = static_cast<std::uint32_t>(pid), .start_ns = 7, .context_id = context_id}));
  }
  std::vector<RawTotals> totals() const override {
    tracer_context_totals totals{};
    totals.account = wire::counted(3);
    totals.ended = 5;
    totals.failed = 2;
    totals.read_before_exec_bytes = 10;
    const auto bytes = std::as_bytes(std::span(&totals, 1));
    return {{0, 4, {bytes.begin(), bytes.end()}}, {1, 1, {bytes.begin(), bytes.end()}}};
  }
  HostInfo host() const override { return {}; }

 private:
  std::atomic<int>* tracked_;
};

/// A source with two living processes, of which the first is taken in by the first visit.
class LivingSource final : public FakeSource {
 public:
  void sample(Receiver& receiver) override {
    const std::uint64_t visit = ++visits_;
    const std::uint32_t first = visit == 1 ? 1 : 0;
    receiver.on_record(wire::thread_record(
        kWho, {.tid = 42, .own = wire::counted(visit), .attached_ns = 900, .newly_adopted = first}));
    receiver.on_record(wire::thread_record({.pid = 43, .start_ns = 1001}, {.tid = 43, .own = wire::counted(visit)}));
  }

 private:
  std::uint64_t visits_ = 0;
};

/// A source that costs something in the kernel, and does not have all that was asked for.
class CostlySource final : public FakeSource {
 public:
  std::vector<SignalState> signals() const override {
    return {{Family::kLifecycle, true, "a", {}},
            {Family::kWaits, false, "b", {}},
            {Family::kSnapshots, !shed_, "c", Problem{}}};
  }
  std::map<Family, std::uint64_t> kernel_ns() const override {
    return {{Family::kLifecycle, 10}, {Family::kWaits, 20}, {Family::kSnapshots, 4000}};
  }
  std::optional<std::uint64_t> kernel_memory_bytes() const override { return 12'288; }
  void shed_snapshots() { shed_ = true; }

 private:
  bool shed_ = false;
};

}  // namespace

TEST_CASE("a polled session tells events in the order of their records and ends with its end") {
  Polled run;
  push_life(*run.source, 1);
  push_life(*run.source, 2);
  CHECK(run.events.empty());
  CHECK(run.poll() == 6);
  using enum EventKind;
  CHECK(collect::kinds_of(run.events) ==
        std::vector{kProcessStart, kProcessExec, kProcessExit, kProcessStart, kProcessExec, kProcessExit});
  run.session->stop();
  REQUIRE(run.events.size() == 7);
  const auto end = std::get<SessionEnd>(run.events.back());
  CHECK(end.exits_delivered == 2);
  CHECK(end.losses == 0);
  CHECK(run.session->statistics().events == 7);
  CHECK(run.session->statistics().records == 6);
  CHECK(run.session->statistics().record_bytes > 6 * sizeof(tracer_wire_header));
}

TEST_CASE("a session with its own thread tells the same") {
  auto owned = std::make_unique<FakeSource>();
  FakeSource& source = *owned;
  Session session(std::move(owned), {});
  std::vector<EventKind> kinds;
  std::atomic<int> exits{0};
  const Subscription all = session.on_any([&](const Event& event) { kinds.push_back(kind_of(event)); });
  const Subscription typed = session.on<ProcessExit>([&](const ProcessExit&) { ++exits; });
  session.start();
  for (std::uint32_t pid = 1; pid <= 50; ++pid) push_life(source, pid);
  while (exits.load() < 50) std::this_thread::yield();
  session.stop();
  REQUIRE(kinds.size() == 151);
  for (std::size_t i = 0; i < 150; ++i) CHECK(static_cast<int>(kinds[i]) == static_cast<int>(i % 3) + 1);
  CHECK(kinds.back() == EventKind::kSessionEnd);
}

TEST_CASE("what was pushed before the stop is still told") {
  auto owned = std::make_unique<FakeSource>();
  FakeSource& source = *owned;
  Session session(std::move(owned), {});
  int exits = 0;
  const Subscription typed = session.on<ProcessExit>([&](const ProcessExit&) { ++exits; });
  session.start();
  for (std::uint32_t pid = 1; pid <= 100; ++pid) push_life(source, pid);
  session.stop();
  CHECK(exits == 100);
}

TEST_CASE("stopping twice ends once, and nothing comes after the end") {
  Polled run;
  push_life(*run.source, 1);
  run.session->stop();
  run.session->stop();
  const std::size_t count = run.events.size();
  CHECK(kind_of(run.events.back()) == EventKind::kSessionEnd);
  push_life(*run.source, 2);
  CHECK(run.poll() == 0);
  CHECK(run.session->finished());
  run.session.reset();
  CHECK(run.events.size() == count);
}

TEST_CASE("a session that was never started ends without a word") {
  auto owned = std::make_unique<FakeSource>();
  collect::push(*owned, wire::start_record(kWho));
  int events = 0;
  Session session(std::move(owned), collect::polled());
  const Subscription all = session.on_any([&](const Event&) { ++events; });
  session.stop();
  CHECK(events == 0);
}

TEST_CASE("a session that was stopped before its start does not start any more") {
  for (const Reader reader : {Reader::kPoll, Reader::kOwnThread}) {
    SessionOptions options;
    options.reader = reader;
    auto owned = std::make_unique<FakeSource>();
    collect::push(*owned, wire::start_record(kWho));
    Session session(std::move(owned), options);
    std::atomic<int> events{0};
    const Subscription all = session.on_any([&](const Event&) { ++events; });
    session.stop();
    session.start();
    CHECK(session.poll(std::chrono::milliseconds(0)) == 0);
    CHECK(events.load() == 0);
  }
}

TEST_CASE("nothing is told before the start") {
  auto owned = std::make_unique<FakeSource>();
  collect::push(*owned, wire::start_record(kWho));
  Session session(std::move(owned), collect::polled());
  int events = 0;
  const Subscription all = session.on_any([&](const Event&) { ++events; });
  CHECK(session.poll(std::chrono::milliseconds(0)) == 0);
  session.start();
  CHECK(session.poll(std::chrono::milliseconds(0)) == 1);
}

TEST_CASE("a destroyed session has ended and leaves no thread") {
  const std::size_t before = thread_count();
  bool ended = false;
  Subscription subscription;
  {
    Session session(std::make_unique<FakeSource>(), {});
    subscription = session.on<SessionEnd>([&](const SessionEnd&) { ended = true; });
    session.start();
    CHECK(thread_count() == before + 1);
  }
  CHECK(ended);
  CHECK(thread_count() == before);
  subscription.cancel();
}

TEST_CASE("a polled session has no thread at all") {
  const std::size_t before = thread_count();
  const Polled run;
  CHECK(thread_count() == before);
}

TEST_CASE("each loss is counted under its cause and told once") {
  Polled run;
  wire::Bytes bad = wire::start_record(kWho);
  bad.pop_back();
  run.push(bad);
  run.push(std::span<const std::byte>());
  wire::Bytes unknown = wire::start_record(kWho);
  unknown[0] = std::byte{99};
  run.push(unknown);
  run.source->set_loss("ring_exit", 7);
  run.poll();
  const std::map<std::string, std::uint64_t> expected = {
      {"record_malformed", 2}, {"record_unknown_kind", 1}, {"ring_exit", 7}};
  CHECK(run.session->statistics().losses == expected);
  CHECK(run.session->statistics().lost() == 10);
  run.session->stop();
  std::map<std::string, std::uint64_t> told;
  for (const Loss& loss : collect::all_of<Loss>(run.events)) {
    CHECK(told.count(loss.cause) == 0);
    told[loss.cause] += loss.count;
  }
  CHECK(told == expected);
  CHECK(std::get<SessionEnd>(run.events.back()).losses == 10);
}

TEST_CASE("processes that were forgotten are a loss") {
  SessionOptions options;
  options.max_processes = 4;
  Polled run(options);
  for (std::uint32_t pid = 1; pid <= 100; ++pid) run.push(wire::start_record({.pid = pid, .start_ns = 1}));
  run.poll();
  const auto losses = run.session->statistics().losses;
  REQUIRE(losses.count("process_forgotten") == 1);
  CHECK(losses.at("process_forgotten") >= 80);
  CHECK(losses.at("process_forgotten") < 100);
}

TEST_CASE("what a callback throws goes to the session's handler and into its statistics") {
  SessionOptions options;
  int errors = 0;
  options.on_error = [&](const std::exception_ptr&) { ++errors; };
  Polled run(options);
  const Subscription bad = run.session->on<ProcessStart>([](const ProcessStart&) { throw std::runtime_error("no"); });
  push_life(*run.source, 1);
  CHECK(run.poll() == 3);
  CHECK(errors == 1);
  CHECK(run.session->statistics().callback_errors == 1);
  CHECK(run.events.size() == 3);
}

TEST_CASE("masked secrets are counted") {
  Polled run;
  run.push(wire::exec_record(kWho, {.time_ns = 2, .exe = "/usr/bin/mysql", .argv = {"mysql", "--password=hunter2"}}));
  run.poll();
  CHECK(run.session->statistics().secrets_masked == 1);
}

TEST_CASE("a callback may ask the session and subscribe to it") {
  Polled run;
  std::uint64_t seen = 0;
  std::optional<Subscription> more;
  const Subscription asks = run.session->on<ProcessStart>([&](const ProcessStart&) {
    seen = run.session->statistics().events;
    if (!more) more = run.session->on<ProcessExit>([](const ProcessExit&) {});
  });
  push_life(*run.source, 1);
  run.poll();
  CHECK(seen == 1);
  CHECK(more.has_value());
}

TEST_CASE("a subscription may outlive its session") {
  Subscription subscription;
  {
    Session session(std::make_unique<FakeSource>(), {});
    subscription = session.on_any([](const Event&) {});
    session.start();
  }
  CHECK(subscription.active());
}

TEST_CASE("living processes, their samples at the end and the sums of contexts come from the source") {
  Session session(std::make_unique<CountingSource>(), collect::polled());
  std::vector<Event> events;
  const Subscription all = session.on_any([&](const Event& event) { events.push_back(event); });
  session.start();
  REQUIRE(events.size() == 1);
  CHECK(std::get<ProcessStart>(events[0]).attached_ns == 5000);
  const auto living = session.living();
  REQUIRE(living.size() == 1);
  CHECK(living[0].account.cpu_ns == 200);
  CHECK(living[0].attached_ns == 5000);
  CHECK(events.size() == 1);
  const auto totals = session.totals();
  REQUIRE(totals.size() == 2);
  CHECK(totals[0].living == 4);
  CHECK(totals[0].ended == 5);
  CHECK(totals[0].failed == 2);
  CHECK(totals[0].account.read_bytes == 20);
  CHECK(totals[0].account.read_at_most_bytes == 30);
  session.stop();
  REQUIRE(events.size() == 3);
  CHECK(std::get<ProcessSample>(events[1]).account.cpu_ns == 200);
  const auto end = std::get<SessionEnd>(events[2]);
  CHECK(end.processes_started == 15);
  CHECK(end.processes_ended == 10);
}

TEST_CASE("a callback that asks what lives while a snapshot is taken does not disturb that") {
  Session session(std::make_unique<LivingSource>(), collect::polled());
  std::vector<Event> events;
  std::vector<ProcessSample> living;
  const Subscription all = session.on_any([&](const Event& event) { events.push_back(event); });
  const Subscription asks = session.on<ProcessStart>([&](const ProcessStart&) { living = session.living(); });
  session.start();
  session.stop();
  REQUIRE(living.size() == 2);
  for (const ProcessSample& sample : living) CHECK(sample.account.cpu_ns == 200);
  using enum EventKind;
  REQUIRE(collect::kinds_of(events) == std::vector{kProcessStart, kProcessSample, kProcessSample, kSessionEnd});
  const auto samples = collect::all_of<ProcessSample>(events);
  CHECK(samples[0].process->pid == 42);
  CHECK(samples[1].process->pid == 43);
  for (const ProcessSample& sample : samples) CHECK(sample.account.cpu_ns == 100);
}

TEST_CASE("a session's end tells what the session cost") {
  Polled run;
  push_life(*run.source, 1);
  run.poll();
  run.session->stop();
  const auto end = std::get<SessionEnd>(run.events.back());
  const OwnCost cost = run.session->statistics().cost;
  CHECK(end.cost_cpu_ns == cost.cpu_ns);
  CHECK(end.cost_cpu_ns > 0);
  CHECK(end.cost_memory_bytes > 0);
  CHECK_FALSE(end.cost_kernel_ns.has_value());
  CHECK_FALSE(end.cost_kernel_memory_bytes.has_value());
  CHECK(end.missing_families == std::vector<std::string>());
}

TEST_CASE("a session's end tells what its source costs in the kernel, without what the reader's own visits do there") {
  Session session(std::make_unique<CostlySource>(), collect::polled());
  std::optional<SessionEnd> end;
  const Subscription ends = session.on<SessionEnd>([&](const SessionEnd& event) { end = event; });
  session.start();
  session.stop();
  REQUIRE(end.has_value());
  CHECK(end->cost_kernel_ns == 30);
  CHECK(end->cost_kernel_memory_bytes == 12'288);
}

TEST_CASE("a session's end names the families that are not there, given up ones too, but no partial ones") {
  for (const bool shed : {false, true}) {
    auto owned = std::make_unique<CostlySource>();
    CostlySource& source = *owned;
    Session session(std::move(owned), collect::polled());
    std::optional<SessionEnd> end;
    const Subscription ends = session.on<SessionEnd>([&](const SessionEnd& event) { end = event; });
    session.start();
    if (shed) source.shed_snapshots();
    session.stop();
    std::vector<std::string> missing = {"waits"};
    if (shed) missing.emplace_back("snapshots");
    REQUIRE(end.has_value());
    CHECK(end->missing_families == missing);
  }
}

TEST_CASE("a tree that is taken in later gets its labels, of which there may be only so many") {
  std::atomic<int> tracked{0};
  SessionOptions options;
  options.reader = Reader::kPoll;
  options.max_contexts = 2;
  Session session(std::make_unique<CountingSource>(&tracked), options);
  std::optional<Context> seen;
  const Subscription starts =
      session.on<ProcessStart>([&](const ProcessStart& start) { seen = start.process->context; });
  session.start();
  Context labels;
  labels.step = "align";
  session.track(77, labels);
  CHECK(tracked.load() == 77);
  CHECK(seen == labels);
  labels.step = "another";
  CHECK_THROWS_AS(session.track(78, labels), Error);
}

TEST_CASE("many threads may use one session at a time") {
  auto owned = std::make_unique<FakeSource>();
  FakeSource& source = *owned;
  Session session(std::move(owned), {});
  std::atomic<std::uint64_t> exits{0};
  const Subscription counts = session.on<ProcessExit>([&](const ProcessExit&) { ++exits; });
  session.start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < 60; ++i) {
        push_life(source, static_cast<std::uint32_t>(t) * 1000 + i + 1);
        const Subscription brief = session.on_any([](const Event&) {});
        static_cast<void>(session.statistics());
        static_cast<void>(session.finished());
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::thread other([&] { session.stop(); });
  session.stop();
  other.join();
  CHECK(exits.load() == 180);
}

TEST_CASE("a recording's end may be awaited from another thread than the reader's") {
  const TempFile file;
  {
    const auto sink = recording_sink(file.path(), HostInfo{});
    for (const Event& event : sample_events::all()) sink->on_event(event);
  }
  Session session(recording_source(file.path()), {});
  std::atomic<std::size_t> events{0};
  const Subscription all = session.on_any([&](const Event&) { ++events; });
  session.start();
  while (!session.finished()) std::this_thread::yield();
  session.stop();
  CHECK(events.load() == sample_events::all().size());
}

TEST_CASE("rules that can't be read are told when the session is made") {
  SessionOptions options;
  options.tool_rules = "/nonexistent/tools.toml";
  CHECK_THROWS_AS(Session(std::make_unique<FakeSource>(), options), Error);
}
