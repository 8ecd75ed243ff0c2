// SPDX-License-Identifier: Apache-2.0
#include <tracer/session.hpp>

#include <array>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <span>
#include <stdexcept>
#include <thread>

#include <doctest/doctest.h>

#include <tracer/source.hpp>

#include "builders.hpp"
#include "collect.hpp"
#include "sample_events.hpp"
#include "temp_file.hpp"

using namespace tracer;
using collect::Polled;
using collect::push_life;
using wire::Who;
using wire::WireSource;

namespace {

const Who kWho{.pid = 42, .start_ns = 1000, .comm = "sh"};

std::size_t thread_count() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

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
  const auto end = (*run.events.back().get_if<SessionEnd>());
  CHECK(end.exits_delivered == 2);
  CHECK(end.losses == 0);
  CHECK(run.session->statistics().events == 7);
  CHECK(run.session->statistics().records == 6);
  CHECK(run.session->statistics().record_bytes > 6 * sizeof(tracer_wire_header));
}

TEST_CASE("a session with its own thread tells the same") {
  auto owned = std::make_unique<WireSource>();
  WireSource& source = *owned;
  Session session(Source(std::move(owned)), {});
  std::vector<EventKind> kinds;
  std::atomic<int> exits{0};
  const Subscription all = session.on_any([&](const Event& event) { kinds.push_back(event.kind()); });
  const Subscription typed = session.on<ProcessExit>([&](const ProcessExit&) { ++exits; });
  session.start();
  for (std::uint32_t pid = 1; pid <= 50; ++pid) push_life(source, pid);
  while (exits.load() < 50) std::this_thread::yield();
  session.stop();
  REQUIRE(kinds.size() == 151);
  for (std::size_t i = 0; i < 150; ++i) CHECK(static_cast<int>(kinds[i]) == 100 + static_cast<int>(i % 3));
  CHECK(kinds.back() == EventKind::kSessionEnd);
}

TEST_CASE("what was pushed before the stop is still told") {
  auto owned = std::make_unique<WireSource>();
  WireSource& source = *owned;
  Session session(Source(std::move(owned)), {});
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
  CHECK((run.events.back()).kind() == EventKind::kSessionEnd);
  push_life(*run.source, 2);
  CHECK(run.poll() == 0);
  CHECK(run.session->finished());
  run.session.reset();
  CHECK(run.events.size() == count);
}

TEST_CASE("a session that was never started ends without a word") {
  auto owned = std::make_unique<WireSource>();
  owned->push(wire::start_record(kWho));
  int events = 0;
  Session session(Source(std::move(owned)), collect::polled());
  const Subscription all = session.on_any([&](const Event&) { ++events; });
  session.stop();
  CHECK(events == 0);
}

TEST_CASE("a session that was stopped before its start does not start any more") {
  for (const ReaderMode reader : {ReaderMode::kPoll, ReaderMode::kOwnThread}) {
    SessionOptions options;
    options.reader = reader;
    auto owned = std::make_unique<WireSource>();
    owned->push(wire::start_record(kWho));
    Session session(Source(std::move(owned)), options);
    std::atomic<int> events{0};
    const Subscription all = session.on_any([&](const Event&) { ++events; });
    session.stop();
    session.start();
    if (reader == ReaderMode::kPoll) CHECK(session.poll(std::chrono::milliseconds(0)) == 0);
    CHECK(session.finished());
    CHECK(events.load() == 0);
  }
}

TEST_CASE("nothing is told before the start") {
  auto owned = std::make_unique<WireSource>();
  owned->push(wire::start_record(kWho));
  Session session(Source(std::move(owned)), collect::polled());
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
    Session session(Source(std::make_unique<WireSource>()), {});
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
  CHECK((*run.events.back().get_if<SessionEnd>()).losses == 10);
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
    Session session(Source(std::make_unique<WireSource>()), {});
    subscription = session.on_any([](const Event&) {});
    session.start();
  }
  CHECK(subscription.active());
}

TEST_CASE("many threads may use one session at a time") {
  auto owned = std::make_unique<WireSource>();
  WireSource& source = *owned;
  Session session(Source(std::move(owned)), {});
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
    const auto events = sample_events::all();
    sink->write(events);
    sink->flush();
  }
  Session session(recording_source(file.path()), {});
  std::atomic<std::size_t> events{0};
  const Subscription all = session.on_any([&](const Event&) { ++events; });
  session.start();
  while (!session.finished()) std::this_thread::yield();
  session.stop();
  CHECK(events.load() == sample_events::all().size());
}

TEST_CASE("a replay waits for the reader of a full queue, and ends in spite of it") {
  const TempFile file;
  constexpr std::uint64_t kEvents = 3000;
  {
    const auto sink = recording_sink(file.path(), HostInfo{});
    for (std::uint64_t time = 1; time <= kEvents; ++time) {
      const Event event = build::exit(1, time);
      sink->write(std::span(&event, 1));
    }
    sink->flush();
  }
  for (const bool to_the_end : {true, false}) {
    Session session(recording_source(file.path()), {});
    QueueOptions options{.capacity_bytes = 10 * Event(build::exit(1, 1)).charge_bytes()};
    options.when_full = WhenFull::kWait;
    Queue queue = session.queue(std::move(options));
    session.start();
    std::uint64_t read = 0;
    std::array<Event, 7> some;
    while (queue.wait(std::chrono::milliseconds(-1)) && !queue.ended() && (to_the_end || read < kEvents / 2))
      read += queue.read(some);
    if (to_the_end) CHECK(read == kEvents);
    CHECK(queue.dropped() == 0);
    session.stop();
    CHECK(session.finished());
  }
}

TEST_CASE("rules that can't be read are told when the session is made") {
  SessionOptions options;
  options.tool_rules = "/nonexistent/tools.toml";
  CHECK_THROWS_AS(Session(Source(std::make_unique<WireSource>()), options), Error);
}

TEST_CASE("descendants keep the labels of the rule that took their tree in, where user space decides the filter") {
  SessionOptions options;
  options.filter.include_tree(1, {.step = "align"});
  Polled run(options);
  const Who parent{.pid = 1, .start_ns = 10};
  const Who child = wire::child_of(parent, 2, 20);
  run.push(wire::start_record(parent));
  run.push(wire::start_record(child));
  run.push(wire::exec_record(child, {.time_ns = 21, .program_start_ns = 20}));
  run.push(wire::exit_record(child, {.time_ns = 22, .program_start_ns = 21}));
  run.poll();
  REQUIRE(run.events.size() == 5);
  CHECK(run.events.front().kind() == EventKind::kTaskStart);
  for (const Event& event : run.events)
    visit(
        [](const auto& body) {
          if constexpr (requires { body.process; }) CHECK(body.process->context->step == "align");
        },
        event);
}

TEST_CASE("labels that a failed track() would have given take no room") {
  class RefusingSource final : public wire::ControlledSource {
   public:
    void track(pid_t pid, std::uint32_t, internal::Feed&) override {
      if (pid == 7) throw Error({ErrorCode::kFilterNamesNothing, 0, "no process 7", {}, {}});
    }
  };
  SessionOptions options;
  options.reader = ReaderMode::kPoll;
  options.max_contexts = 2;
  Session session(Source(std::make_unique<RefusingSource>()), options);
  session.start();
  for (int n = 0; n < 5; ++n) CHECK_THROWS_AS(session.track(7, {.step = std::to_string(n)}), Error);
  session.track(8, {.step = "there"});
  session.track(9, {.step = "there"});
  CHECK_THROWS_AS(session.track(10, {.step = "one too many"}), Error);
}
