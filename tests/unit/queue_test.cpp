// SPDX-License-Identifier: Apache-2.0
#include "dispatch/queue_state.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <thread>

#include <doctest/doctest.h>

#include <tracer/error.hpp>

#include "builders.hpp"

using namespace tracer;
using namespace tracer::internal;
using internal::QueueState;
using std::chrono::milliseconds;

namespace {

const std::atomic<bool> kAtLeisure{false};

bool readable(const QueueState& queue) {
  pollfd fd{queue.fd(), POLLIN, 0};
  return ::poll(&fd, 1, 0) == 1;
}

void push(QueueState& queue, const Event& event) { queue.push(std::span(&event, 1), kAtLeisure); }

std::vector<Event> read_all(QueueState& queue) {
  std::vector<Event> all;
  std::array<Event, 3> some;
  while (const std::size_t count = queue.read(some))
    all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
  return all;
}

std::vector<std::uint64_t> times(const std::vector<Event>& events) {
  std::vector<std::uint64_t> all;
  for (const Event& event : events) all.push_back(event.time_ns());
  return all;
}

}  // namespace

TEST_CASE("a queue gives its events in their order, and is readable while there are any") {
  QueueState queue({});
  CHECK_FALSE(readable(queue));
  CHECK_FALSE(queue.wait(milliseconds(0)));
  for (std::uint64_t time = 1; time <= 5; ++time) push(queue, build::exit(1, time));
  CHECK(readable(queue));
  CHECK(queue.wait(milliseconds(-1)));
  CHECK(times(read_all(queue)) == std::vector<std::uint64_t>{1, 2, 3, 4, 5});
  CHECK_FALSE(readable(queue));
  CHECK_FALSE(queue.ended());
  CHECK(queue.dropped() == 0);
}

TEST_CASE("a queue has only the kinds that were asked for, and always losses and the end") {
  QueueState queue({.kinds = {EventKind::kProcessExit}});
  push(queue, build::start(1));
  CHECK_FALSE(readable(queue));
  push(queue, build::exit(1));
  push(queue, Loss{});
  push(queue, SnapshotEnd{});
  push(queue, build::end());
  const auto all = read_all(queue);
  REQUIRE(all.size() == 3);
  CHECK(all[0].kind() == EventKind::kProcessExit);
  CHECK(all[1].kind() == EventKind::kLoss);
  CHECK(all[2].kind() == EventKind::kSessionEnd);
}

TEST_CASE("a full queue drops the oldest, and one loss with counts by kind stands at the gap") {
  const std::size_t each = Event(build::exit(1)).charge_bytes();
  QueueState queue({.capacity_bytes = 3 * each});
  push(queue, build::start(1, 1));
  for (std::uint64_t time = 2; time <= 10; ++time) push(queue, build::exit(1, time));
  CHECK(queue.dropped() == 7);
  const auto all = read_all(queue);
  REQUIRE(all.size() == 4);
  const Loss* loss = all[0].get_if<Loss>();
  REQUIRE(loss != nullptr);
  CHECK(loss->cause == "queue_full");
  CHECK(loss->count == 7);
  CHECK(loss->first_ns == 1);
  CHECK(loss->last_ns == 7);
  REQUIRE(loss->by_kind.size() == 2);
  CHECK(loss->by_kind[0].kind == EventKind::kProcessStart);
  CHECK(loss->by_kind[0].count == 1);
  CHECK(loss->by_kind[1].kind == EventKind::kProcessExit);
  CHECK(loss->by_kind[1].count == 6);
  CHECK(times(all) == std::vector<std::uint64_t>{7, 8, 9, 10});
  push(queue, build::exit(1, 11));
  CHECK(read_all(queue).size() == 1);
}

TEST_CASE("there is room for the end in the fullest queue, and for one event of any size") {
  QueueState queue({.capacity_bytes = 1});
  push(queue, build::exit(1, 1));
  CHECK(read_all(queue).size() == 1);
  push(queue, build::exit(1, 2));
  push(queue, build::end(3));
  queue.end();
  const auto all = read_all(queue);
  REQUIRE(all.size() == 2);
  CHECK(all[0].get_if<Loss>()->count == 1);
  CHECK(all[1].kind() == EventKind::kSessionEnd);
  CHECK(queue.ended());
}

TEST_CASE("a queue that waits for its reader loses nothing, until somebody is in a hurry or gives it up") {
  QueueOptions options{.capacity_bytes = 3 * Event(build::exit(1, 1)).charge_bytes()};
  options.when_full = WhenFull::kWait;
  QueueState queue(options);
  constexpr std::uint64_t kEvents = 100;
  std::vector<std::uint64_t> all(kEvents);
  std::iota(all.begin(), all.end(), 1);
  std::thread writer([&] {
    for (const std::uint64_t time : all) push(queue, build::exit(1, time));
    queue.end();
  });
  std::vector<std::uint64_t> read;
  while (queue.wait(milliseconds(-1)) && !queue.ended())
    for (const std::uint64_t time : times(read_all(queue))) read.push_back(time);
  writer.join();
  CHECK(read == all);
  CHECK(queue.dropped() == 0);

  for (const char* why : {"hurry", "given up", "drops from now on"}) {
    CAPTURE(why);
    QueueState full(options);
    std::atomic<bool> hurry{false};
    std::atomic<bool> returned{false};
    std::thread stuck([&] {
      for (std::uint64_t time = 1; time <= 10; ++time) {
        const Event event = build::exit(1, time);
        full.push(std::span(&event, 1), hurry);
      }
      returned = true;
    });
    while (full.pushed() < 3) std::this_thread::yield();
    std::this_thread::sleep_for(milliseconds(50));
    CHECK_FALSE(returned);
    if (why == std::string("hurry")) hurry = true;
    if (why == std::string("given up")) full.abandon();
    if (why == std::string("drops from now on")) full.set_when_full(WhenFull::kDropOldest);
    stuck.join();
    CHECK(full.dropped() == 7);
  }
}

TEST_CASE("a queue of no bytes is refused") {
  try {
    QueueState queue({.capacity_bytes = 0});
    FAIL("made");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kInvalidArgument);
  }
}

TEST_CASE("where owners are told apart, who holds most of a full queue loses the oldest") {
  constexpr uid_t kAlice = 1000;
  constexpr uid_t kBob = 1001;
  Context full;
  full.labels = {{"a", std::string(4000, 'x')}};
  const auto of = [&](uid_t uid, std::uint64_t time, const Context& context = {}) {
    return Event(ProcessStart{time, build::process({.pid = 1, .start_ns = time, .uid = uid, .context = context}), {}});
  };
  const std::size_t each = of(kAlice, 1).charge_bytes();
  QueueState queue({.capacity_bytes = 100 * each},
                   [](const Event& event) { return *event.get_if<ProcessStart>()->process->uid; });
  for (std::uint64_t time = 1; time <= 5; ++time) push(queue, of(kAlice, time));
  for (std::uint64_t time = 6; time <= 1000; ++time) push(queue, of(kBob, time, full));
  push(queue, of(kAlice, 1001));
  // No more positions are passed than were asked for.
  std::uint64_t left = 0;
  std::array<Event, 3> some;
  REQUIRE(queue.read(some, &left) == 3);
  CHECK(left <= 3);
  const Loss* loss = some[0].get_if<Loss>();
  REQUIRE(loss != nullptr);
  CHECK(loss->uid == kBob);
  CHECK(loss->first_ns == 6);
  std::vector<Event> all(some.begin() + 1, some.end());
  // Also where a read passes nothing but what was dropped.
  while (left < 1001) {
    const std::size_t count = queue.read(some, &left);
    all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
  }
  std::vector<std::uint64_t> of_alice;
  std::vector<std::uint64_t> of_bob;
  for (const Event& event : all)
    (*event.get_if<ProcessStart>()->process->uid == kAlice ? of_alice : of_bob).push_back(event.time_ns());
  CHECK(of_alice == std::vector<std::uint64_t>{1, 2, 3, 4, 5, 1001});
  CHECK(of_bob.size() + loss->count == 995);
  CHECK(std::is_sorted(of_bob.begin(), of_bob.end()));
  CHECK(of_bob.back() == 1000);
  CHECK_FALSE(readable(queue));
  // What events share is charged once.
  const auto shared = build::process({.pid = 1, .start_ns = 1, .uid = kBob, .context = full});
  for (std::uint64_t time = 1; time <= 15; ++time) push(queue, Event(ProcessStart{time, shared, {}}));
  CHECK(queue.dropped() == loss->count);
}

TEST_CASE("an ended queue gives what is left, takes nothing, stays readable and does not wait") {
  QueueState queue({});
  push(queue, build::exit(1, 1));
  queue.end();
  push(queue, build::exit(1, 2));
  CHECK_FALSE(queue.ended());
  CHECK(times(read_all(queue)) == std::vector<std::uint64_t>{1});
  CHECK(queue.ended());
  CHECK(readable(queue));
  CHECK(queue.wait(milliseconds(-1)));
  CHECK(read_all(queue).empty());
}

TEST_CASE("nothing is read into no room") {
  QueueState queue({.capacity_bytes = 1});
  push(queue, build::exit(1, 1));
  push(queue, build::exit(1, 2));
  CHECK(queue.read({}) == 0);
  CHECK(queue.dropped() == 1);
  CHECK(read_all(queue).size() == 2);
}

TEST_CASE("who waits is woken by an event and by the end, and not before") {
  QueueState queue({});
  std::array<Event, 8> events;
  std::size_t seen = 0;
  std::thread reader([&] {
    while (!queue.ended()) {
      queue.wait(milliseconds(-1));
      seen += queue.read(events);
    }
  });
  for (std::uint64_t time = 1; time <= 1000; ++time) push(queue, build::exit(1, time));
  queue.end();
  reader.join();
  CHECK(seen == 1000);
}

TEST_CASE("an event is charged with its texts and its parts in full") {
  const std::size_t bare = Event(build::exit(1)).charge_bytes();
  ProcessExit exit = build::exit(1);
  exit.process = build::process({.argv = std::vector<std::string>{std::string(4000, 'x')}});
  CHECK(Event(exit).charge_bytes() >= bare + 4000);
  CHECK(bare >= sizeof(ProcessExit) + sizeof(Process) + sizeof(Program));
  CHECK(Event().charge_bytes() == 0);
}

TEST_CASE("a queue that asks for kinds may do without the end of the session") {
  QueueState queue({.kinds = {EventKind::kProcessExit}, .session_end = false});
  push(queue, build::exit(1));
  push(queue, Loss{});
  push(queue, build::end());
  const auto all = read_all(queue);
  REQUIRE(all.size() == 2);
  CHECK(all[0].kind() == EventKind::kProcessExit);
  CHECK(all[1].kind() == EventKind::kLoss);
}
