// SPDX-License-Identifier: Apache-2.0
/// Session::flush() and SinkHandle::flush(): what was delivered and written when they return.
#include <tracer/session.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/error.hpp>
#include <tracer/recording.hpp>
#include <tracer/testing.hpp>

#include "builders.hpp"
#include "session_tools.hpp"
#include "temp_file.hpp"
#include "wire_builder.hpp"
#include "wire_source.hpp"

using namespace tracer;
using namespace session_tools;
using std::chrono::milliseconds;
using testing::FakeSource;

namespace {

constexpr milliseconds kForever{-1};

SessionOptions with(ReaderMode reader) {
  SessionOptions options;
  options.reader = reader;
  return options;
}

/// The process exits in a recording, by a reader of its own.
std::size_t exits_in(const std::filesystem::path& file) {
  RecordingReader reader(file);
  std::vector<Event> events(256);
  std::size_t exits = 0;
  while (const std::size_t count = reader.read(events))
    for (const Event& event : std::span(events).first(count)) exits += event.kind() == EventKind::kProcessExit ? 1 : 0;
  return exits;
}

/// Has a record in the making in front of what is whole, for as long as it is told to.
class UnfinishedSource final : public wire::WireSource {
 public:
  explicit UnfinishedSource(std::atomic<bool>& whole) : whole_(whole) {}
  bool drain(internal::Feed& feed, const internal::DrainLimit& limit) override {
    return whole_ && WireSource::drain(feed, limit);
  }

 private:
  std::atomic<bool>& whole_;
};

}  // namespace

TEST_CASE("what happened before flush() was delivered when it returns") {
  for (const ReaderMode reader : {ReaderMode::kOwnThread, ReaderMode::kPoll}) {
    CAPTURE(reader == ReaderMode::kPoll);
    FakeSource source;
    Session session(source.source(), with(reader));
    std::atomic<int> seen{0};
    const Subscription all = session.on<ProcessExit>([&](const ProcessExit&) {
      std::this_thread::sleep_for(milliseconds(1));
      ++seen;
    });
    Queue queue = session.queue();
    CHECK(session.flush(kForever));  // Not started: nothing to wait for.
    session.start();
    CHECK(session.flush(kForever));
    for (int round = 1; round <= 20; ++round) {
      source.push(build::exit(1));
      source.push(build::exit(2));
      REQUIRE(session.flush(kForever));
      CHECK(seen == 2 * round);
      std::vector<Event> events(10);
      CHECK(queue.read(events) == 2);
    }
    session.stop();
    source.push(build::exit(3));
    CHECK(session.flush(kForever));
    CHECK(seen == 40);
  }
}

TEST_CASE("flush() of a session that was asked to stop, whose source ended, or that never started") {
  for (const ReaderMode reader : {ReaderMode::kOwnThread, ReaderMode::kPoll}) {
    FakeSource source;
    Session session(source.source(), with(reader));
    std::atomic<int> seen{0};
    const Subscription all = session.on<ProcessExit>([&](const ProcessExit&) { ++seen; });
    session.start();
    source.push(build::exit(1));
    session.request_stop();
    CHECK(session.flush(kForever));
    CHECK(seen == 1);

    FakeSource ending;
    Session other(ending.source(), with(reader));
    const Subscription both = other.on<ProcessExit>([&](const ProcessExit&) { ++seen; });
    other.start();
    ending.push(build::exit(2));
    ending.finish();
    CHECK(other.flush(kForever));
    CHECK(seen == 2);

    FakeSource unused;
    Session never(unused.source(), with(reader));
    never.stop();
    CHECK(never.flush(kForever));
  }
}

TEST_CASE("flush() inside a callback says so") {
  for (const ReaderMode reader : {ReaderMode::kOwnThread, ReaderMode::kPoll}) {
    FakeSource source;
    Session session(source.source(), with(reader));
    std::atomic<int> refused{0};
    const Subscription all = session.on<ProcessExit>([&](const ProcessExit&) {
      try {
        session.flush(milliseconds(0));
      } catch (const Error& error) {
        if (error.code() == ErrorCode::kInCallback) ++refused;
      }
    });
    session.start();
    source.push(build::exit(1));
    CHECK(session.flush(kForever));
    CHECK(refused == 1);
  }
}

TEST_CASE("flush() gives up when its time has passed or it is told to, while a callback holds the session up") {
  for (const ReaderMode reader : {ReaderMode::kOwnThread, ReaderMode::kPoll}) {
    CAPTURE(reader == ReaderMode::kPoll);
    FakeSource source;
    Session session(source.source(), with(reader));
    std::atomic<bool> in_callback{false};
    std::atomic<bool> go_on{false};
    const Subscription all = session.on<ProcessExit>([&](const ProcessExit&) {
      in_callback = true;
      wait_until([&] { return go_on.load(); });
    });
    session.start();
    source.push(build::exit(1));
    std::thread poller([&] {
      if (reader == ReaderMode::kPoll) session.poll(kForever);
    });
    wait_until([&] { return in_callback.load(); });
    source.push(build::exit(2));
    CHECK_FALSE(session.flush(milliseconds(0)));
    CHECK_FALSE(session.flush(milliseconds(30)));
    int asked = 0;
    CHECK_FALSE(session.flush(kForever, [&] { return ++asked < 3; }));
    CHECK(asked == 3);
    CHECK_THROWS_AS(session.flush(kForever, [&]() -> bool { throw std::runtime_error("interrupted"); }),
                    std::runtime_error);
    std::thread flusher([&] { CHECK(session.flush(kForever, [] { return true; })); });
    go_on = true;
    flusher.join();
    poller.join();
    CHECK(session.statistics().events == 2);
  }
}

TEST_CASE("flush() waits for a record that is not whole yet, though nobody reports that it is") {
  for (const ReaderMode reader : {ReaderMode::kOwnThread, ReaderMode::kPoll}) {
    std::atomic<bool> whole{false};
    auto source = std::make_unique<UnfinishedSource>(whole);
    UnfinishedSource& wire = *source;
    Session session(tracer::Source(std::move(source)), with(reader));
    std::atomic<int> starts{0};
    const Subscription all = session.on<ProcessStart>([&](const ProcessStart&) { ++starts; });
    session.start();
    wire.push(wire::start_record({.pid = 7, .start_ns = 70, .comm = "sh"}));
    CHECK_FALSE(session.flush(milliseconds(20)));
    std::thread finisher([&] {
      std::this_thread::sleep_for(milliseconds(20));
      whole = true;
    });
    CHECK(session.flush(kForever));
    CHECK(starts == 1);
    finisher.join();
  }
}

TEST_CASE("several threads flush while several push: each has its own") {
  for (const ReaderMode reader : {ReaderMode::kOwnThread, ReaderMode::kPoll}) {
    FakeSource source;
    Session session(source.source(), with(reader));
    std::mutex mutex;
    std::vector<int> seen(4);
    const Subscription all = session.on<ProcessExit>([&](const ProcessExit& exit) {
      const std::lock_guard lock(mutex);
      ++seen[exit.process->pid];
    });
    auto shared = std::make_shared<HeldSink::Shared>();
    SinkHandle sink = session.add_sink(std::make_unique<HeldSink>(shared));
    session.start();
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (std::uint32_t thread = 0; thread < 4; ++thread)
      threads.emplace_back([&, thread] {
        for (int n = 1; n <= 100; ++n) {
          source.push(build::exit(thread));
          if (!session.flush(kForever)) ++wrong;
          if (n % 10 == 0 && !sink.flush(kForever)) ++wrong;
          const std::lock_guard lock(mutex);
          if (seen[thread] != n) ++wrong;
        }
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    const std::lock_guard lock(shared->mutex);
    CHECK(shared->kinds.size() == 400);
  }
}

TEST_CASE("a recording can be opened at once, and has all when its sink was flushed") {
  const TempFile file;
  FakeSource source;
  Session session(source.source(), {});
  std::optional<SinkHandle> sink = session.add_sink(recording_sink(file.path(), session.host()));
  CHECK(sink->flush(kForever));
  CHECK(exits_in(file.path()) == 0);
  session.start();
  for (std::uint32_t n = 1; n <= 1000; ++n) {
    source.push(build::exit(n));
    if (n % 250 != 0) continue;
    REQUIRE(session.flush(kForever));
    REQUIRE(sink->flush(kForever));
    CHECK(exits_in(file.path()) == n);
  }
  session.stop();
  CHECK(sink->flush(kForever));
}

TEST_CASE("a stalled sink's flush() gives up; one that failed says so at once; a handle may outlive its session") {
  FakeSource source;
  auto session = std::make_unique<Session>(source.source(), SessionOptions());
  auto stalled = std::make_shared<HeldSink::Shared>();
  stalled->hold(true);
  SinkHandle held = session->add_sink(std::make_unique<HeldSink>(stalled), {.capacity_bytes = 20'000});
  SinkHandle full = session->add_sink(recording_sink("/dev/full", session->host()));
  session->start();
  for (std::uint32_t n = 0; n < 1000; ++n) source.push(build::exit(n));
  REQUIRE(session->flush(kForever));
  CHECK_FALSE(held.flush(milliseconds(20)));
  int asked = 0;
  CHECK_FALSE(held.flush(kForever, [&] { return ++asked < 2; }));
  CHECK_FALSE(full.flush(kForever));
  CHECK(full.problem().has_value());
  CHECK_FALSE(held.problem().has_value());
  stalled->hold(false);
  CHECK(held.flush(kForever));  // What was dropped counts as written: its Loss is.
  {
    const std::lock_guard lock(stalled->mutex);
    const auto exits = std::count(stalled->kinds.begin(), stalled->kinds.end(), EventKind::kProcessExit);
    CHECK(static_cast<std::uint64_t>(exits) + stalled->lost == 1000);
  }
  session.reset();
  CHECK(held.flush(kForever));
  CHECK_FALSE(full.flush(kForever));
}

TEST_CASE("a sink that was left behind is not waited for, and its own thread is refused") {
  class AskingSink final : public Sink {
   public:
    explicit AskingSink(std::optional<SinkHandle>& self, std::atomic<int>& refused) : self_(self), refused_(refused) {}
    void write(std::span<const Event>) noexcept override {
      try {
        self_->flush(milliseconds(0));
      } catch (const Error& error) {
        if (error.code() == ErrorCode::kInCallback) ++refused_;
      }
    }
    void flush() noexcept override {}
    std::optional<Problem> problem() const override { return std::nullopt; }

   private:
    std::optional<SinkHandle>& self_;
    std::atomic<int>& refused_;
  };
  FakeSource source;
  std::optional<SinkHandle> handle;
  std::atomic<int> refused{0};
  Session session(source.source(), {});
  auto stalled = std::make_shared<HeldSink::Shared>();
  stalled->hold(true);
  SinkHandle left = session.add_sink(std::make_unique<HeldSink>(stalled));
  handle = session.add_sink(std::make_unique<AskingSink>(handle, refused));
  session.start();
  source.push(build::exit(1));
  session.flush(kForever);
  CHECK(handle->flush(kForever));
  CHECK(refused == 1);
  session.stop();
  CHECK_FALSE(left.flush(kForever));
  stalled->hold(false);
}
