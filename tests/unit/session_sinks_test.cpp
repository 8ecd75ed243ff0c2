// SPDX-License-Identifier: Apache-2.0
/// Sinks of sessions: their threads, and what a slow one costs.
#include <tracer/session.hpp>

#include <linux/capability.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include <tracer/testing.hpp>

#include "builders.hpp"
#include "session_tools.hpp"

using namespace tracer;
using namespace session_tools;
using std::chrono::milliseconds;
using testing::FakeSource;

TEST_CASE("a stalled sink holds nobody up: others are whole, statistics answer, and the end leaves it behind") {
  FakeSource source;
  Session session(source.source(), {});
  auto stalled = std::make_shared<HeldSink::Shared>();
  auto quick = std::make_shared<HeldSink::Shared>();
  stalled->hold(true);
  const SinkHandle stalled_handle = session.add_sink(std::make_unique<HeldSink>(stalled), {.capacity_bytes = 50'000});
  const SinkHandle quick_handle = session.add_sink(std::make_unique<HeldSink>(quick));
  session.start();
  source.push(build::exit(1));
  stalled->wait_for_write();
  for (std::uint32_t pid = 1; pid < 1000; ++pid) source.push(build::exit(pid));
  wait_until([&] { return session.statistics().events == 1000; });
  session.stop();  // Returns, though the sink never does.
  CHECK(quick->kinds.size() == 1001);
  CHECK(quick->kinds.back() == EventKind::kSessionEnd);
  CHECK(quick_handle.dropped() == 0);
  CHECK_FALSE(quick_handle.problem().has_value());
  REQUIRE(stalled_handle.problem().has_value());
  CHECK(stalled_handle.dropped() > 900);
  stalled->hold(false);
}

TEST_CASE("a sink that was slow for a while knows what it missed") {
  FakeSource source;
  Session session(source.source(), {});
  auto slow = std::make_shared<HeldSink::Shared>();
  slow->hold(true);
  const SinkHandle handle = session.add_sink(std::make_unique<HeldSink>(slow), {.capacity_bytes = 50'000});
  session.start();
  for (std::uint32_t pid = 1; pid <= 1000; ++pid) source.push(build::exit(pid));
  wait_until([&] { return session.statistics().events == 1000; });
  slow->hold(false);
  session.stop();
  const auto exits = std::count(slow->kinds.begin(), slow->kinds.end(), EventKind::kProcessExit);
  CHECK(static_cast<std::uint64_t>(exits) + slow->lost == 1000);
  CHECK(slow->lost == handle.dropped());
  CHECK(slow->kinds.back() == EventKind::kSessionEnd);
}

TEST_CASE("a sink that comes late has what comes from then on; one that comes after the end has nothing") {
  FakeSource source;
  Session session(source.source(), polled());
  session.start();
  source.push(build::exit(1));
  session.poll(milliseconds(0));
  auto late = std::make_shared<HeldSink::Shared>();
  session.add_sink(std::make_unique<HeldSink>(late));
  source.push(build::exit(2));
  session.poll(milliseconds(0));
  session.stop();
  CHECK(late->kinds == std::vector{EventKind::kProcessExit, EventKind::kSessionEnd});
  auto after = std::make_shared<HeldSink::Shared>();
  session.add_sink(std::make_unique<HeldSink>(after));
  session.stop();
  CHECK(after->kinds.empty());
}

TEST_CASE("a sink's thread has no capabilities, and no signal reaches it") {
  class AskingSink final : public Sink {
   public:
    explicit AskingSink(std::atomic<bool>& asked, std::atomic<bool>& good) : asked_(asked), good_(good) {}
    void write(std::span<const Event>) noexcept override {
      __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
      __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {};
      ::syscall(SYS_capget, &header, caps);
      sigset_t blocked;
      ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
      constexpr std::uint32_t kOfUser = 1u << CAP_SETUID | 1u << CAP_SETGID;
      good_ = (caps[0].effective & ~kOfUser) == 0 && (caps[0].permitted & ~kOfUser) == 0 && caps[1].permitted == 0 &&
              ::sigismember(&blocked, SIGINT) == 1 && ::sigismember(&blocked, SIGCHLD) == 1;
      asked_ = true;
    }
    void flush() noexcept override {}
    std::optional<Problem> problem() const override { return std::nullopt; }

   private:
    std::atomic<bool>& asked_;
    std::atomic<bool>& good_;
  };
  std::atomic<bool> asked{false};
  std::atomic<bool> good{false};
  FakeSource source;
  Session session(source.source(), {});
  session.add_sink(std::make_unique<AskingSink>(asked, good));
  session.start();
  source.push(build::exit(1));
  session.stop();
  CHECK(asked);
  CHECK(good);
}

TEST_CASE("a session that was never started ends its queues and sinks") {
  FakeSource source;
  auto sink = std::make_shared<HeldSink::Shared>();
  auto session = std::make_unique<Session>(source.source(), SessionOptions());
  Queue queue = session->queue();
  session->add_sink(std::make_unique<HeldSink>(sink));
  session->stop();
  CHECK(queue.ended());
  session->start();
  CHECK(session->finished());
  session.reset();
  CHECK(sink->kinds.empty());
}
