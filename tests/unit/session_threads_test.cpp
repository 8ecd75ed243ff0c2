// SPDX-License-Identifier: Apache-2.0
/// Sessions that are used from everywhere at once.
#include <tracer/session.hpp>

#include <unistd.h>

#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include <tracer/error.hpp>
#include <tracer/testing.hpp>

#include "builders.hpp"
#include "session_tools.hpp"
#include "wire_builder.hpp"
#include "wire_source.hpp"

using namespace tracer;
using namespace session_tools;
using std::chrono::milliseconds;
using testing::FakeSource;
using Clock = std::chrono::steady_clock;

namespace {

template <class Function>
ErrorCode code_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode{};
}

constexpr std::uint32_t kExits = 2000;

/// Has a living process for each question.
class AnsweringSource final : public wire::ControlledSource {
 public:
  explicit AnsweringSource(std::atomic<int>& tracked) : tracked_(tracked) {}
  void push_life(std::uint32_t pid) {
    const wire::Who who{.pid = pid, .start_ns = 1000 + pid, .comm = "sh"};
    push(wire::start_record(who));
    push(wire::exit_record(who, {.time_ns = 5000 + pid, .program_start_ns = who.start_ns}));
  }
  void track(pid_t, std::uint32_t context_id, internal::Feed& feed) override {
    ++tracked_;
    decoder().feed(wire::start_record({.pid = 1u << 20, .start_ns = 7, .context_id = context_id}), feed);
  }
  void snapshot(internal::Feed& feed, bool) override {
    const wire::Who who{.pid = 1u << 20, .start_ns = 7};
    decoder().feed(wire::thread_record(who, {.tid = who.pid, .own = wire::counted(1)}), feed);
    feed.snapshot_end(6001);
  }
  std::vector<internal::RawTotals> totals() const override { return {internal::RawTotals{}}; }
  std::vector<FamilyState> families() const override { return {{Family::kLifecycle, true, "a", {}}}; }

 private:
  std::atomic<int>& tracked_;
};

template <class Push>
void call_every_method(tracer::Source source, ReaderMode reader, Push push) {
  SessionOptions options;
  options.reader = reader;
  Session session(std::move(source), options);
  std::atomic<std::uint64_t> seen{0};
  const Subscription all = session.on<ProcessExit>([&](const ProcessExit&) { ++seen; });
  session.start();
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([&, n] {
      while (!done) {
        session.track(::getpid(), {.step = std::to_string(n)});
        session.living();
        session.statistics();
        session.totals();
        session.families();
        session.explain();
        session.start();
        const Subscription mine = session.on<ProcessExit>([](const ProcessExit&) {});
        Queue queue = session.queue({.capacity_bytes = 1000});
        std::array<Event, 2> events;
        queue.read(events);
        if (reader == ReaderMode::kPoll) session.poll(milliseconds(0));
      }
    });
  for (std::uint32_t pid = 1; pid <= kExits; ++pid) push(pid);
  if (reader == ReaderMode::kPoll) {
    while (seen < kExits) session.poll(milliseconds(1));
  } else {
    wait_until([&] { return seen == kExits; });
  }
  done = true;
  session.stop();
  for (std::thread& thread : threads) thread.join();
  CHECK(seen == kExits);
}

}  // namespace

TEST_CASE("a callback may call every method; those that would wait for it say so") {
  for (const ReaderMode reader : {ReaderMode::kOwnThread, ReaderMode::kPoll}) {
    FakeSource source;
    SessionOptions options;
    options.reader = reader;
    Session session(source.source(), options);
    std::atomic<int> calls{0};
    std::vector<Subscription> nested;
    const Subscription all = session.on_any([&](const Event& event) {
      if (event.kind() != EventKind::kProcessExit) return;
      session.start();
      session.track(::getpid(), {.step = "x"});
      CHECK(session.living().empty());
      CHECK(session.statistics().events > 0);
      CHECK(session.totals().empty());
      CHECK(session.families().empty());
      CHECK(session.explain().size() == 1);
      CHECK(session.host().cpu_count > 0);
      CHECK(session.fd() >= 0);
      CHECK_FALSE(session.finished());
      nested.push_back(session.on<Loss>([](const Loss&) {}));
      Queue queue = session.queue();
      CHECK(queue.fd() >= 0);
      CHECK(code_of([&] { session.stop(); }) == ErrorCode::kInCallback);
      CHECK(code_of([&] { session.poll(milliseconds(0)); }) == ErrorCode::kInCallback);
      CHECK(code_of([&] { queue.wait(milliseconds(-1)); }) == ErrorCode::kInCallback);
      ++calls;
    });
    session.start();
    source.push(build::exit(1));
    source.push(build::exit(2));
    if (reader == ReaderMode::kPoll) session.poll(milliseconds(-1));
    wait_until([&] { return calls == 2; });
    session.stop();
    CHECK(session.finished());
  }
}

TEST_CASE("a callback asks for the end, and the session ends by itself") {
  for (const ReaderMode reader : {ReaderMode::kOwnThread, ReaderMode::kPoll}) {
    FakeSource source;
    SessionOptions options;
    options.reader = reader;
    Session session(source.source(), options);
    std::vector<EventKind> kinds;
    const Subscription all = session.on_any([&](const Event& event) {
      kinds.push_back(event.kind());
      session.request_stop();
    });
    session.start();
    source.push(build::exit(1));
    while (!session.finished()) {
      if (reader == ReaderMode::kPoll) {
        session.poll(milliseconds(-1));
      } else {
        std::this_thread::sleep_for(milliseconds(1));
      }
    }
    session.stop();
    CHECK(kinds == std::vector{EventKind::kProcessExit, EventKind::kSessionEnd});
  }
}

TEST_CASE("a session may be destroyed in its own callback: the end comes when that has returned") {
  for (const ReaderMode reader : {ReaderMode::kOwnThread, ReaderMode::kPoll}) {
    FakeSource source;
    SessionOptions options;
    options.reader = reader;
    auto session = std::make_unique<Session>(source.source(), options);
    Queue queue = session->queue();
    Session* polled = session.get();
    const Subscription all = session->on<ProcessExit>([&](const ProcessExit&) { session.reset(); });
    session->start();
    source.push(build::exit(1));
    if (reader == ReaderMode::kPoll) polled->poll(milliseconds(-1));
    std::array<Event, 4> events;
    std::size_t seen = 0;
    while (!queue.ended()) {
      queue.wait(milliseconds(-1));
      seen += queue.read(std::span(events).subspan(seen));
    }
    CHECK(seen == 2);
    CHECK(events[1].kind() == EventKind::kSessionEnd);
  }
}

TEST_CASE("a callback that calls start() while another thread stops the session blocks nobody") {
  FakeSource source;
  Session session(source.source(), {});
  std::atomic<bool> in_callback{false};
  std::atomic<bool> stopping{false};
  const Subscription all = session.on<ProcessExit>([&](const ProcessExit&) {
    in_callback = true;
    wait_until([&] { return stopping.load(); });
    std::this_thread::sleep_for(milliseconds(20));
    session.start();
  });
  session.start();
  source.push(build::exit(1));
  wait_until([&] { return in_callback.load(); });
  stopping = true;
  session.stop();
  CHECK(session.finished());
}

TEST_CASE("a callback that sleeps delays no method") {
  FakeSource source;
  Session session(source.source(), {});
  std::atomic<bool> in_callback{false};
  std::atomic<bool> asked{false};
  const Subscription all = session.on<ProcessExit>([&](const ProcessExit&) {
    in_callback = true;
    wait_until([&] { return asked.load(); });
  });
  Queue queue = session.queue();
  session.start();
  source.push(build::exit(1));
  wait_until([&] { return in_callback.load(); });
  // None of these returns if it waits for the callback, which waits for them.
  session.track(::getpid(), {});
  session.living();
  session.statistics();
  session.totals();
  CHECK(queue.wait(milliseconds(-1)));
  asked = true;
  session.stop();
}

TEST_CASE("four threads call every method while events come") {
  for (const ReaderMode reader : {ReaderMode::kOwnThread, ReaderMode::kPoll}) {
    FakeSource source;
    call_every_method(source.source(), reader, [&](std::uint32_t pid) { source.push(build::exit(pid)); });
  }
}

TEST_CASE("four threads call every method of a session whose source answers questions, while events come") {
  for (const ReaderMode reader : {ReaderMode::kOwnThread, ReaderMode::kPoll}) {
    std::atomic<int> tracked{0};
    auto owned = std::make_unique<AnsweringSource>(tracked);
    AnsweringSource& source = *owned;
    call_every_method(tracer::Source(std::move(owned)), reader, [&](std::uint32_t pid) { source.push_life(pid); });
    CHECK(tracked > 0);
  }
}

TEST_CASE("with kPoll a queue's wait() drives the session, from any thread") {
  FakeSource source;
  auto session = std::make_unique<Session>(source.source(), polled());
  Queue queue = session->queue();
  std::size_t seen = 0;
  std::thread reader([&] {
    std::array<Event, 16> events;
    while (!queue.ended()) {
      queue.wait(milliseconds(-1));
      seen += queue.read(events);
    }
  });
  session->start();
  for (std::uint32_t pid = 1; pid <= 500; ++pid) source.push(build::exit(pid));
  source.finish();
  reader.join();
  CHECK(seen == 501);
  CHECK(session->finished());
}

TEST_CASE("a session that is destroyed while another thread reads its queue ends that queue") {
  for (const ReaderMode reader : {ReaderMode::kOwnThread, ReaderMode::kPoll}) {
    FakeSource source;
    SessionOptions options;
    options.reader = reader;
    auto session = std::make_unique<Session>(source.source(), options);
    Queue queue = session->queue();
    session->start();
    std::vector<Event> all;
    std::atomic<bool> reading{false};
    std::thread thread([&] {
      std::array<Event, 16> events;
      while (!queue.ended()) {
        reading = true;
        queue.wait(milliseconds(-1));
        const std::size_t count = queue.read(events);
        all.insert(all.end(), events.begin(), events.begin() + static_cast<std::ptrdiff_t>(count));
      }
    });
    source.push(build::exit(1));
    wait_until([&] { return reading.load(); });
    session.reset();
    thread.join();
    REQUIRE(all.size() == 2);
    CHECK(all[1].kind() == EventKind::kSessionEnd);
  }
}

TEST_CASE("a queue reader that stops reading loses the oldest; others are whole") {
  FakeSource source;
  Session session(source.source(), polled());
  Queue unread = session.queue({.capacity_bytes = 20'000});
  Queue read = session.queue();
  session.start();
  for (std::uint32_t pid = 1; pid <= 1000; ++pid) source.push(build::exit(pid));
  while (session.statistics().events < 1000) session.poll(milliseconds(0));
  session.stop();
  std::vector<Event> events(2000);
  const std::size_t kept = unread.read(events);
  CHECK(kept < 100);
  const Loss* loss = events[0].get_if<Loss>();
  REQUIRE(loss != nullptr);
  CHECK(loss->count == unread.dropped());
  CHECK(loss->count + kept == 1002);  // The loss itself, the exits and the end.
  CHECK(read.read(events) == 1001);
  CHECK(read.dropped() == 0);
}

TEST_CASE("two sessions in one process keep apart") {
  FakeSource one;
  FakeSource two;
  Session first(one.source(), polled());
  Session second(two.source(), {});
  Queue of_first = first.queue();
  Queue of_second = second.queue();
  first.start();
  second.start();
  one.push(build::exit(1));
  two.push(build::exit(2));
  first.stop();
  second.stop();
  std::array<Event, 4> events;
  REQUIRE(of_first.read(events) == 2);
  CHECK(events[0].get_if<ProcessExit>()->process->pid == 1);
  REQUIRE(of_second.read(events) == 2);
  CHECK(events[0].get_if<ProcessExit>()->process->pid == 2);
}

TEST_CASE("poll() of a session that reads by itself is refused") {
  FakeSource source;
  Session session(source.source(), {});
  CHECK(code_of([&] { session.poll(milliseconds(0)); }) == ErrorCode::kContradiction);
}

TEST_CASE("a callback that is run by stop() may destroy the session") {
  for (const ReaderMode reader : {ReaderMode::kOwnThread, ReaderMode::kPoll}) {
    FakeSource source;
    SessionOptions options;
    options.reader = reader;
    auto session = std::make_unique<Session>(source.source(), options);
    const Subscription end = session->on<SessionEnd>([&](const SessionEnd&) { session.reset(); });
    session->start();
    session->stop();
    CHECK_FALSE(session);
  }
}

TEST_CASE("a session that is stopped while it starts delivers nothing after stop() has returned") {
  for (int round = 0; round < 200; ++round) {
    FakeSource source;
    source.push(build::exit(1));
    Session session(source.source(), {});
    std::atomic<bool> stopped{false};
    std::atomic<bool> late{false};
    const Subscription all = session.on_any([&](const Event&) { late = late || stopped; });
    std::thread starter([&] { session.start(); });
    session.stop();
    stopped = true;
    starter.join();
    CHECK(session.finished());
    CHECK_FALSE(late);
  }
}
