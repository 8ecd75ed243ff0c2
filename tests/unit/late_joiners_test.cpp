// SPDX-License-Identifier: Apache-2.0
/// Queues, sinks and callbacks that join a running session and ask for what lives first.
#include <tracer/session.hpp>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/testing.hpp>

#include "builders.hpp"
#include "collect.hpp"
#include "session_tools.hpp"
#include "wire_builder.hpp"
#include "wire_source.hpp"

using namespace tracer;
using std::chrono::milliseconds;

namespace {

/// Its context ids mean tasks of one run.
class TaskSource final : public wire::ControlledSource {
 public:
  std::uint64_t open_label(pid_t, std::uint32_t context_id) override { return last_context = context_id; }
  std::uint32_t last_context = 0;
};

class Running {
 public:
  explicit Running(milliseconds sample_interval = milliseconds(1000)) {
    auto source = std::make_unique<TaskSource>();
    wire_ = source.get();
    SessionOptions options = collect::polled();
    options.sample_interval = sample_interval;
    session.emplace(tracer::Source(std::move(source)), options);
    session->start();
  }
  void start(std::uint32_t pid, const std::string& task) {
    labels_.push_back(session->label_thread({.run = "r1", .task_id = task}));
    contexts_[pid] = wire_->last_context;
    wire_->push(wire::start_record(who(pid)));
  }
  void exit(std::uint32_t pid) { wire_->push(wire::exit_record(who(pid), {.time_ns = 5000, .program_start_ns = pid})); }
  void poll() { session->poll(milliseconds(0)); }

  std::optional<Session> session;

 private:
  wire::Who who(std::uint32_t pid) { return {.pid = pid, .start_ns = pid, .context_id = contexts_[pid], .comm = "sh"}; }
  TaskSource* wire_ = nullptr;
  std::map<std::uint32_t, std::uint32_t> contexts_;
  std::vector<ThreadLabel> labels_;
};

std::string told(const Event& event) {
  if (const auto* start = event.get_if<ProcessStart>()) return "process " + std::to_string(start->process->pid);
  if (const auto* start = event.get_if<TaskStart>()) return "task " + start->context->task_id.value_or("?");
  if (const auto* exit = event.get_if<ProcessExit>()) return "exit " + std::to_string(exit->process->pid);
  return std::string(to_string(event.kind()));
}

using Told = std::vector<std::string>;

Told read(Queue& queue) {
  std::array<Event, 64> events;
  Told all;
  const std::size_t count = queue.read(events);
  for (std::size_t i = 0; i < count; ++i) all.push_back(told(events[i]));
  return all;
}

}  // namespace

TEST_CASE("a queue that asks for what lives gets it once, before all that comes") {
  Running running;
  running.start(10, "a");
  running.start(11, "b");
  running.start(12, "b");
  running.poll();
  running.exit(10);
  running.poll();
  Queue late = running.session->queue({.living_first = true});
  Queue only_later = running.session->queue();
  running.exit(11);
  running.poll();
  running.start(13, "c");
  running.poll();
  CHECK(read(late) == Told{"task b", "process 12", "task c", "process 13"});
  CHECK(read(only_later) == Told{"exit 11", "task c", "process 13"});
}

TEST_CASE("what began and was not delivered yet is told once") {
  Running running;
  running.start(10, "a");
  running.poll();
  running.start(11, "b");
  Queue late = running.session->queue({.living_first = true});
  running.poll();
  running.poll();
  CHECK(read(late) == Told{"task a", "process 10", "task b", "process 11"});
}

TEST_CASE("who joins does not wait for a snapshot that is due, which comes soon after") {
  constexpr milliseconds kInterval{100};
  Running running(kInterval);
  running.start(10, "a");
  running.poll();
  Queue all = running.session->queue();
  std::this_thread::sleep_for(2 * kInterval);
  Queue late = running.session->queue({.living_first = true});
  running.poll();
  CHECK(read(late) == Told{"task a", "process 10"});
  CHECK(read(all).empty());
  Told told;
  for (int tries = 0; tries < 100 && told.empty(); ++tries) {
    running.poll();
    told = read(all);
    if (told.empty()) std::this_thread::sleep_for(kInterval);
  }
  CHECK(told == Told{"snapshot_end"});
}

TEST_CASE("a callback and a sink can ask for it as well, for their kinds") {
  Running running;
  running.start(10, "a");
  running.poll();
  Told by_kind;
  const Subscription starts = running.session->subscribe(
      EventKind::kProcessStart, [&](const Event& event) { by_kind.push_back(told(event)); }, {.living_first = true});
  auto shared = std::make_shared<session_tools::HeldSink::Shared>();
  const SinkHandle sink =
      running.session->add_sink(std::make_unique<session_tools::HeldSink>(shared), {.living_first = true});
  running.poll();
  running.start(11, "b");
  running.poll();
  running.session->stop();
  CHECK(by_kind == Told{"process 10", "process 11"});
  CHECK(shared->kinds == std::vector{EventKind::kTaskStart, EventKind::kProcessStart, EventKind::kTaskStart,
                                     EventKind::kProcessStart, EventKind::kSnapshotEnd, EventKind::kSessionEnd});
}

TEST_CASE("who asks before the start or at the end gets the rest, and an end") {
  Running running;
  running.start(10, "a");
  running.poll();
  Queue at_the_end = running.session->queue({.living_first = true});
  running.session->stop();
  const Told last = read(at_the_end);
  REQUIRE_FALSE(last.empty());
  CHECK(last.back() == "session_end");
  testing::FakeSource fake;
  Session replayed(fake.source(), collect::polled());
  Queue early = replayed.queue({.living_first = true});
  replayed.start();
  fake.push(build::exit(7));
  replayed.poll(milliseconds(0));
  CHECK(read(early) == Told{"exit 7"});
}

TEST_CASE("an unknown kind of event is an error, not silence") {
  testing::FakeSource fake;
  Session session(fake.source(), collect::polled());
  for (const unsigned number : {99u, 1024u, 65535u}) {
    CAPTURE(number);
    const auto kind = static_cast<EventKind>(number);
    CHECK_THROWS_AS(static_cast<void>(session.queue({.kinds = {kind}})), Error);
    CHECK_THROWS_AS(static_cast<void>(session.subscribe(kind, [](const Event&) {})), Error);
  }
}

TEST_CASE("a sink that is closed has written all that it got, and the session goes on without it") {
  testing::FakeSource fake;
  Session session(fake.source(), collect::polled());
  auto first = std::make_shared<session_tools::HeldSink::Shared>();
  auto second = std::make_shared<session_tools::HeldSink::Shared>();
  SinkHandle closing = session.add_sink(std::make_unique<session_tools::HeldSink>(first));
  const SinkHandle staying = session.add_sink(std::make_unique<session_tools::HeldSink>(second));
  session.start();
  fake.push(build::exit(1));
  session.poll(milliseconds(0));
  CHECK_FALSE(closing.close());
  CHECK(first->kinds == std::vector{EventKind::kProcessExit});
  CHECK(first.use_count() == 1);
  fake.push(build::exit(2));
  session.poll(milliseconds(0));
  CHECK_FALSE(closing.close());
  session.stop();
  CHECK(first->kinds == std::vector{EventKind::kProcessExit});
  CHECK(second->kinds.size() == 3);
}
