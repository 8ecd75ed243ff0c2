// SPDX-License-Identifier: Apache-2.0
#include <tracer/session.hpp>

#include <atomic>

#include <doctest/doctest.h>

#include <tracer/source.hpp>

#include "collect.hpp"

using namespace tracer;
using collect::Polled;
using collect::push_life;
using internal::Feed;
using internal::RawTotals;
using wire::Who;

namespace {

const Who kWho{.pid = 42, .start_ns = 1000, .comm = "sh"};

/// A source that knows sums and living processes, as the kernel's does.
class CountingSource final : public wire::ControlledSource {
 public:
  explicit CountingSource(std::atomic<int>* tracked = nullptr) : tracked_(tracked) {}
  void start(Feed& feed) override { decoder().feed(wire::start_record(kWho, TRACER_FLAG_ADOPTED_LIFE, 5000), feed); }
  void snapshot(Feed& feed, bool) override {
    decoder().feed(wire::thread_record(kWho, {.time_ns = 6000, .tid = 42, .own = wire::counted(2)}), feed);
    feed.snapshot_end(6001);
  }
  void track(pid_t pid, std::uint32_t context_id, Feed& feed) override {
    *tracked_ = pid;
    decoder().feed(
        wire::start_record({.pid = static_cast<std::uint32_t>(pid), .start_ns = 7, .context_id = context_id}), feed);
  }
  std::vector<RawTotals> totals() const override {
    RawTotals totals;
    totals.living = 4;
    totals.account = raw::counted(3);
    totals.ended = 5;
    totals.failed = 2;
    totals.read_before_exec_bytes = 10;
    RawTotals others = totals;
    others.context_id = 1;
    others.living = 1;
    return {totals, others};
  }

 private:
  std::atomic<int>* tracked_;
};

/// A source with two living processes, of which the first is taken in by the first visit.
class LivingSource final : public wire::ControlledSource {
 public:
  void snapshot(Feed& feed, bool) override {
    const std::uint64_t visit = ++visits_;
    const std::uint32_t first = visit == 1 ? 1 : 0;
    decoder().feed(
        wire::thread_record(kWho, {.tid = 42, .own = wire::counted(visit), .attached_ns = 900, .newly_adopted = first}),
        feed);
    decoder().feed(wire::thread_record({.pid = 43, .start_ns = 1001}, {.tid = 43, .own = wire::counted(visit)}), feed);
    feed.snapshot_end(visit);
  }

 private:
  std::uint64_t visits_ = 0;
};

/// A source that costs something in the kernel, and does not have all that was asked for.
class CostlySource final : public wire::ControlledSource {
 public:
  std::vector<FamilyState> families() const override {
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

TEST_CASE("living processes, their samples at the end and the sums of contexts come from the source") {
  Session session(tracer::Source(std::make_unique<CountingSource>()), collect::polled());
  std::vector<Event> events;
  const Subscription all = session.on_any([&](const Event& event) { events.push_back(event); });
  session.start();
  session.poll(std::chrono::milliseconds(0));
  REQUIRE(events.size() == 1);
  CHECK((*events[0].get_if<ProcessStart>()).attached_ns == 5000);
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
  REQUIRE(events.size() == 4);
  CHECK((*events[1].get_if<ProcessSample>()).account.cpu_ns == 200);
  CHECK(events[2].get_if<SnapshotEnd>()->processes == 1);
  const auto end = (*events[3].get_if<SessionEnd>());
  CHECK(end.processes_started == 15);
  CHECK(end.processes_ended == 10);
}

TEST_CASE("a callback that asks what lives takes a visit of its own, and disturbs no snapshot") {
  Session session(tracer::Source(std::make_unique<LivingSource>()), collect::polled());
  std::vector<Event> events;
  std::vector<ProcessSample> living;
  const Subscription all = session.on_any([&](const Event& event) { events.push_back(event); });
  const Subscription asks = session.on<ProcessStart>([&](const ProcessStart&) { living = session.living(); });
  session.start();
  session.living();  // Takes in the first process, of which a callback is told.
  session.poll(std::chrono::milliseconds(0));
  session.stop();
  REQUIRE(living.size() == 2);
  for (const ProcessSample& sample : living) CHECK(sample.account.cpu_ns == 200);
  using enum EventKind;
  REQUIRE(collect::kinds_of(events) ==
          std::vector{kProcessStart, kProcessSample, kProcessSample, kSnapshotEnd, kSessionEnd});
  const auto samples = collect::all_of<ProcessSample>(events);
  CHECK(samples[0].process->pid == 42);
  CHECK(samples[1].process->pid == 43);
  for (const ProcessSample& sample : samples) CHECK(sample.account.cpu_ns == 300);
}

TEST_CASE("a session's end tells what the session cost") {
  Polled run;
  push_life(*run.source, 1);
  run.poll();
  run.session->stop();
  const auto end = (*run.events.back().get_if<SessionEnd>());
  const OwnCost cost = run.session->statistics().cost;
  CHECK(end.cost_cpu_ns > 0);
  CHECK(end.cost_cpu_ns <= cost.cpu_ns);  // Delivering the end costs something, too.
  CHECK(end.cost_memory_bytes > 0);
  CHECK_FALSE(end.cost_kernel_ns.has_value());
  CHECK_FALSE(end.cost_kernel_memory_bytes.has_value());
  CHECK(end.missing_families == std::vector<std::string>());
}

TEST_CASE("a session's end tells what its source costs in the kernel, without what the reader's own visits do there") {
  Session session(tracer::Source(std::make_unique<CostlySource>()), collect::polled());
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
    Session session(tracer::Source(std::move(owned)), collect::polled());
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
  options.reader = ReaderMode::kPoll;
  options.max_contexts = 2;
  Session session(tracer::Source(std::make_unique<CountingSource>(&tracked)), options);
  std::optional<Context> seen;
  const Subscription starts =
      session.on<ProcessStart>([&](const ProcessStart& start) { seen = *start.process->context; });
  session.start();
  Context labels;
  labels.step = "align";
  session.track(77, labels);
  CHECK(tracked.load() == 77);
  session.poll(std::chrono::milliseconds(0));
  REQUIRE(seen);
  CHECK(seen->step == "align");
  CHECK(seen->provenance.step == Provenance::kLabel);
  labels.step = "another";
  CHECK_THROWS_AS(session.track(78, labels), Error);
}
