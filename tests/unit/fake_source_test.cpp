// SPDX-License-Identifier: Apache-2.0
#include <tracer/testing.hpp>

#include <poll.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "builders.hpp"

#include <tracer/session.hpp>

#include "collect.hpp"
#include "sample_events.hpp"
#include "source/source.hpp"

using namespace tracer;
using namespace tracer::internal;
using testing::FakeSource;

namespace {

ProcessExit exit_of(std::uint32_t pid, std::optional<std::string> tool = {}) {
  ProcessExit exit;
  exit.process = build::process({.pid = pid, .tool = std::move(tool)});
  return exit;
}

bool is_readable(int fd) {
  pollfd ready{fd, POLLIN, 0};
  return ::poll(&ready, 1, 0) == 1;
}

struct Kept final : internal::Feed {
  void record(const internal::Record&) override {}
  void event(Event event) override { events.push_back(std::move(event)); }
  void snapshot_end(std::uint64_t) override {}
  std::vector<Event> events;
};

}  // namespace

TEST_CASE("a session tells the events that a fake source is given, filtered, then its losses and its end") {
  FakeSource fake;
  SessionOptions options = collect::polled();
  options.filter.include_tool("samtools *");
  Session session(fake.source(), options);
  std::vector<Event> events;
  const Subscription all = session.on_any([&](const Event& event) { events.push_back(event); });
  session.start();
  fake.push(exit_of(1, "samtools sort"));
  fake.push(exit_of(2, "bwa mem"));
  fake.set_loss("ring_full_process_exit", 3);
  CHECK(session.poll(std::chrono::milliseconds(1000)) == 1);
  fake.push(exit_of(3, "samtools view"));
  session.stop();
  using enum EventKind;
  CHECK(collect::kinds_of(events) == std::vector{kProcessExit, kProcessExit, kLoss, kSessionEnd});
  CHECK((*events[1].get_if<ProcessExit>()).process->pid == 3);
  CHECK((*events[3].get_if<SessionEnd>()).losses == 3);
  CHECK(session.living().empty());
  CHECK(session.totals().empty());
  CHECK(session.families().empty());
}

TEST_CASE("a fake source may be pushed to from any thread, and outlives its session") {
  FakeSource fake;
  std::atomic<int> exits{0};
  {
    Session session(fake.source(), {});
    const Subscription counts = session.on<ProcessExit>([&](const ProcessExit&) { ++exits; });
    session.start();
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        for (std::uint32_t pid = 1; pid <= 100; ++pid) fake.push(exit_of(pid));
      });
    for (std::thread& thread : threads) thread.join();
    fake.finish();
    while (!session.finished()) std::this_thread::yield();
    session.stop();
  }
  fake.push(exit_of(1));
  CHECK(exits == 300);
}

TEST_CASE("a source that was given away makes no session") {
  FakeSource fake;
  tracer::Source source = fake.source();
  const tracer::Source taken = std::move(source);
  CHECK_THROWS_AS(Session(std::move(source), {}), Error);
}

TEST_CASE("a fake source's descriptor is readable while there is something to do") {
  FakeSource fake;
  const auto source = fake.source().release();
  Kept kept;
  CHECK_FALSE(is_readable(source->fd()));
  for (std::uint32_t pid = 1; pid <= 5; ++pid) fake.push(exit_of(pid));
  CHECK(is_readable(source->fd()));
  CHECK(source->drain(kept, {.records = 3}));
  CHECK(kept.events.size() == 3);
  CHECK(is_readable(source->fd()));
  CHECK_FALSE(source->drain(kept, {}));
  CHECK(kept.events.size() == 5);
  CHECK_FALSE(is_readable(source->fd()));
  fake.push(exit_of(6));
  CHECK(source->drain(kept, {.time = std::chrono::nanoseconds(0)}));
  CHECK(kept.events.size() == 5);
  fake.finish();
  CHECK_FALSE(source->finished());
  CHECK_FALSE(source->drain(kept, {}));
  CHECK(source->finished());
  CHECK(is_readable(source->fd()));
}
