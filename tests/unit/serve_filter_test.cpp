// SPDX-License-Identifier: Apache-2.0
/// What clients with a filter get of a service.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/error.hpp>

#include "base/event_schema.hpp"
#include "builders.hpp"
#include "serve/charges.hpp"
#include "serve/hub.hpp"
#include "stream_client.hpp"

using namespace tracer;
using namespace tracer::internal;
using Clock = Hub::Clock;

namespace {

constexpr uid_t kAlice = 1000;
constexpr uid_t kBob = 1001;
const Sight kAliceSees{.owners = {kAlice}};
const Sight kRootSees{.all = true};
const HostInfo kHost = [] {
  HostInfo host;
  host.boot_id = "b";
  host.cpu_count = 2;
  return host;
}();

std::shared_ptr<const Process> process(std::uint32_t pid, std::uint32_t parent = 0, uid_t uid = kAlice,
                                       std::string exe = "/bin/sh", Context context = {}) {
  build::ProcessSpec spec{.pid = pid, .start_ns = pid * 10ull, .uid = uid, .context = std::move(context)};
  if (parent != 0) {
    spec.parent_pid = parent;
    spec.parent_start_ns = parent * 10ull;
  }
  spec.argv = {{exe, "secret"}};
  spec.exe = std::move(exe);
  return build::process(std::move(spec));
}
Event start(const std::shared_ptr<const Process>& p) { return ProcessStart{p->start_ns, p, {}}; }
Event exit(const std::shared_ptr<const Process>& p) {
  ProcessExit event;
  event.time_ns = p->start_ns + 1;
  event.process = p;
  event.start_ns = p->start_ns;
  return event;
}
Event sample(const std::shared_ptr<const Process>& p) {
  ProcessSample event;
  event.time_ns = p->start_ns + 1;
  event.process = p;
  return event;
}

/// A client with its own stream, as long as it lives.
struct Subscriber {
  Subscriber(Hub& of_hub, Charges& charges, const Sight& sight, Hub::Wish wish, std::vector<Event> living = {},
             Clock::time_point now = Clock::now())
      : hub(of_hub), outbox(kHost, charges, kAlice, 4u << 20), joined(hub.join(outbox, sight, wish, living, now)) {}
  ~Subscriber() { hub.leave(outbox, Clock::now()); }
  Subscriber(const Subscriber&) = delete;
  Subscriber& operator=(const Subscriber&) = delete;

  std::vector<Event> read() { return client.read_all(outbox); }
  /// Of the events since the last call.
  std::vector<std::string> told() {
    std::vector<std::string> told;
    for (const Event& event : read()) {
      std::uint32_t pid = 0;
      visit(
          [&](const auto& body) {
            if constexpr (requires { body.process->pid; }) pid = body.process->pid;
          },
          event);
      told.push_back(std::string(to_string(event.kind())) + (pid == 0 ? "" : " " + std::to_string(pid)));
    }
    return told;
  }

  Hub& hub;
  StreamClient client;
  Outbox outbox;
  Hub::Joined joined;
};

using Told = std::vector<std::string>;

struct Service {
  explicit Service(ServeLimits limits = {}) : charges(limits), hub(kHost, limits, Ownership()) {}

  void say(std::vector<Event> events) {
    hub.deliver(events, Clock::now());
    for (const Sight& sight : {kAliceSees, kRootSees}) hub.close_frames(sight);
  }
  Charges charges;
  Hub hub;
};

ErrorCode refused(Service& service, Hub::Wish wish) {
  try {
    Subscriber subscriber(service.hub, service.charges, kAliceSees, std::move(wish));
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode{};
}

const Filter kTreeOf2 = Filter().include_tree(2);

}  // namespace

TEST_CASE("what a filter leaves out is not sent, nor what another user owns") {
  Service service;
  Subscriber all(service.hub, service.charges, kAliceSees, {});
  Subscriber tree(service.hub, service.charges, kAliceSees, {.filter = kTreeOf2});
  Subscriber of_root(service.hub, service.charges, kRootSees, {.filter = kTreeOf2});
  CHECK_FALSE(all.joined.stream.has_value());
  CHECK(tree.joined.stream.has_value());
  CHECK(tree.joined.sequence == 1);
  Loss loss;
  loss.cause = "ring_full_process_exit";
  loss.count = 3;
  service.say({start(process(1)), start(process(2)), start(process(3, 2)), start(process(4, 2, kBob)),
               sample(process(1)), sample(process(3, 2)), Event(SnapshotEnd{500, 99}), Event(loss), exit(process(3, 2)),
               exit(process(4, 2, kBob)), exit(process(1))});
  CHECK(tree.told() ==
        Told{"process_start 2", "process_start 3", "process_sample 3", "snapshot_end", "loss", "process_exit 3"});
  CHECK(of_root.told() == Told{"process_start 2", "process_start 3", "process_start 4", "process_sample 3",
                               "snapshot_end", "loss", "process_exit 3", "process_exit 4"});
  CHECK(all.told().size() == 9);
  // Numbers count what is sent.
  CHECK(service.hub.last_number(kAliceSees, tree.joined.stream) == 6);
  CHECK(service.hub.last_number(kAliceSees) == 9);
  // What says something of all says it of what the filter takes in.
  service.say({sample(process(2)), sample(process(1)), Event(SnapshotEnd{600, 99}), Event(SessionEnd())});
  const auto events = tree.read();
  REQUIRE(events.size() == 3);
  CHECK(events[1].get_if<SnapshotEnd>()->processes == 1);
  CHECK(events[2].get_if<SessionEnd>()->processes_started == 2);
  CHECK(events[2].get_if<SessionEnd>()->processes_ended == 1);
}

TEST_CASE("kinds are selected among what a filter takes in") {
  Service service;
  Subscriber ends(service.hub, service.charges, kAliceSees,
                  {.kinds = {EventKind::kProcessExit}, .filter = Filter().include_exe("bwa")});
  const auto bwa = process(2, 0, kAlice, "/usr/bin/bwa");
  service.say({start(process(1)), start(bwa), exit(process(1)), exit(bwa)});
  CHECK(ends.told() == Told{"process_exit 2"});
}

TEST_CASE("a filter begins with what lives, whether the client is told of it or not") {
  Service service;
  const std::vector<Event> living = {start(process(1)), start(process(2)), start(process(3, 2)),
                                     start(process(4, 0, kBob))};
  service.say(living);
  Subscriber told(service.hub, service.charges, kAliceSees, {.living_first = true, .filter = kTreeOf2}, living);
  Subscriber untold(service.hub, service.charges, kAliceSees, {.filter = kTreeOf2}, living);
  CHECK(told.joined.living == 2);
  CHECK(untold.joined.living == 0);
  CHECK(told.told() == Told{"process_start 2", "process_start 3"});
  service.say({start(process(5, 3)), exit(process(3, 2)), exit(process(1))});
  CHECK(told.told() == Told{"process_start 5", "process_exit 3"});
  CHECK(untold.told() == Told{"process_start 5", "process_exit 3"});
  // Its parent has ended, and it is still of the tree for who comes later.
  Subscriber late(service.hub, service.charges, kAliceSees, {.living_first = true, .filter = kTreeOf2},
                  {start(process(1)), start(process(5, 3))});
  CHECK(late.told() == Told{"process_start 5"});
}

TEST_CASE("clients with equal filters share each frame, and others do not") {
  Service service;
  std::vector<std::unique_ptr<Subscriber>> equal;
  for (int i = 0; i < 5; ++i)
    equal.push_back(std::make_unique<Subscriber>(service.hub, service.charges, kAliceSees,
                                                 Hub::Wish{.filter = Filter().include_tree(2)}));
  CHECK(service.hub.views() == 1);
  Subscriber other(service.hub, service.charges, kAliceSees, {.filter = Filter().include_tree(3)});
  Subscriber another_sight(service.hub, service.charges, kRootSees, {.filter = kTreeOf2});
  CHECK(service.hub.views() == 3);
  service.say({start(process(2))});
  for (const auto& each : equal) CHECK(each->told() == Told{"process_start 2"});
  CHECK(other.told().empty());
}

TEST_CASE("a filtered stream goes on by its name and number, and only for who may see the same") {
  Service service;
  std::optional<Subscriber> first(std::in_place, service.hub, service.charges, kAliceSees,
                                  Hub::Wish{.filter = kTreeOf2});
  const auto stream = first->joined.stream;
  service.say({start(process(2)), start(process(1))});
  CHECK(first->read().size() == 1);
  first.reset();
  service.say({start(process(3, 2)), exit(process(1)), exit(process(3, 2))});
  CHECK(refused(service, {.from = 1, .stream = *stream + 1}) == ErrorCode::kInvalidArgument);
  CHECK(refused(service, {.from = 5, .stream = stream}) == ErrorCode::kInvalidArgument);
  CHECK(refused(service, {.stream = stream}) == ErrorCode::kInvalidArgument);
  CHECK(refused(service, {.from = 1, .filter = kTreeOf2}) == ErrorCode::kInvalidArgument);
  CHECK_THROWS_AS(Subscriber(service.hub, service.charges, kRootSees, {.from = 1, .stream = stream}), Error);
  CHECK_THROWS_AS(service.hub.last_number(kRootSees, stream), Error);
  Subscriber again(service.hub, service.charges, kAliceSees, {.from = 2, .stream = stream});
  CHECK(again.joined.sequence == 2);
  CHECK(again.joined.missed == 0);
  CHECK(again.joined.stream == stream);
  CHECK(again.told() == Told{"process_start 3", "process_exit 3"});
}

TEST_CASE("a filter that nobody has for a while is forgotten, and its stream is not taken for another") {
  Service service;
  std::optional<Subscriber> first(std::in_place, service.hub, service.charges, kAliceSees,
                                  Hub::Wish{.filter = kTreeOf2});
  const auto stream = first->joined.stream;
  first.reset();
  service.hub.tick(Clock::now() + std::chrono::seconds(30));
  CHECK(service.hub.views() == 1);
  service.hub.tick(Clock::now() + std::chrono::seconds(61));
  CHECK(service.hub.views() == 0);
  service.say({start(process(2))});
  CHECK(refused(service, {.from = 1, .stream = stream}) == ErrorCode::kInvalidArgument);
}

TEST_CASE("filters of a user are bounded: those that nobody has go first") {
  constexpr auto kMost = static_cast<pid_t>(ServeLimits::kFiltersOfUser);
  Service service;
  std::vector<std::unique_ptr<Subscriber>> used;
  const auto subscribe = [&](pid_t pid) {
    return std::make_unique<Subscriber>(service.hub, service.charges, kAliceSees,
                                        Hub::Wish{.filter = Filter().include_tree(pid)});
  };
  for (pid_t pid = 1; pid <= 1000; ++pid) subscribe(pid);
  CHECK(service.hub.views() == ServeLimits::kFiltersOfUser);
  for (pid_t pid = 1; pid <= kMost; ++pid) used.push_back(subscribe(pid));
  CHECK(service.hub.views() == ServeLimits::kFiltersOfUser);
  CHECK(refused(service, {.filter = Filter().include_tree(kMost + 1)}) == ErrorCode::kServiceRefused);
  CHECK(refused(service, {.filter = Filter().include_tree(kMost)}) == ErrorCode{});
  // Root's are not bounded so.
  std::vector<std::unique_ptr<Subscriber>> of_root;
  for (pid_t pid = 1; pid <= 2 * kMost; ++pid)
    of_root.push_back(std::make_unique<Subscriber>(service.hub, service.charges, kRootSees,
                                                   Hub::Wish{.filter = Filter().include_tree(pid)}));
}

TEST_CASE("a process that is attached to is taken in by its own stream alone") {
  Service service;
  const std::vector<Event> living = {start(process(1)), start(process(2)), start(process(7)), start(process(8, 7))};
  service.say(living);
  Subscriber one(service.hub, service.charges, kAliceSees, {.filter = kTreeOf2}, living);
  Subscriber other(service.hub, service.charges, kAliceSees, {.filter = kTreeOf2}, living);
  service.say({start(process(3, 2))});
  service.hub.follow(kAliceSees, *one.joined.stream, 7, 500, Clock::now());
  service.hub.follow(kRootSees, *one.joined.stream, 1, 500, Clock::now());
  service.hub.follow(kAliceSees, 12345, 1, 500, Clock::now());
  service.say({exit(process(8, 7)), exit(process(3, 2)), start(process(9, 7)), exit(process(1))});
  CHECK(one.told() == Told{"process_start 3", "process_start 7", "process_start 8", "process_exit 8", "process_exit 3",
                           "process_start 9"});
  CHECK(other.told() == Told{"process_start 3", "process_exit 3"});
  CHECK(service.hub.last_number(kAliceSees, one.joined.stream) == 6);
  CHECK(service.hub.last_number(kAliceSees, other.joined.stream) == 2);
  // Who asks for the rules later does not get the other's tree.
  Subscriber late(service.hub, service.charges, kAliceSees, {.filter = kTreeOf2});
  service.say({exit(process(9, 7))});
  CHECK(one.told() == Told{"process_exit 9"});
  CHECK(late.told().empty());
  // One that it follows already changes nothing.
  service.hub.follow(kAliceSees, *other.joined.stream, 2, 500, Clock::now());
  CHECK(other.told().empty());
  CHECK(service.hub.views() == 2);
}

TEST_CASE("a service that goes on knows what filters had taken in") {
  Service before;
  const std::vector<Event> living = {start(process(1)), start(process(2)), start(process(3, 2))};
  before.say(living);
  Subscriber one(before.hub, before.charges, kAliceSees, {.filter = kTreeOf2}, living);
  before.hub.take_changed();
  before.hub.follow(kAliceSees, *one.joined.stream, 1, 500, Clock::now());
  CHECK(before.hub.take_changed().size() == 1);
  before.say({exit(process(2))});
  Service next;
  for (const RecentEvents::Viewer& each : before.hub.viewers()) next.hub.add(each, Clock::now());
  // It had no kernel side to ask what its parent was.
  next.say({exit(process(3, 2)), start(process(4, 1)), start(process(5))});
  Subscriber again(next.hub, next.charges, kAliceSees, {.from = 3, .stream = one.joined.stream});
  CHECK(again.joined.missed == 0);
  CHECK(again.told() == Told{"process_exit 3", "process_start 4"});
  RecentEvents::Viewer damaged = before.hub.viewers().back();
  REQUIRE(damaged.filtered);
  damaged.filtered->rules = "[7]";
  damaged.filtered->id += 1;
  next.hub.add(damaged, Clock::now());
  CHECK(next.hub.views() == 1);
}

TEST_CASE("the time that filters take is charged to those who have them") {
  Hub hub(kHost, ServeLimits(), Ownership());
  Charges charges{ServeLimits()};
  const Subscriber plain(hub, charges, kAliceSees, {});
  const auto deliver = [&] {
    for (std::uint32_t pid = 1; pid <= 64; ++pid)
      hub.deliver(std::vector<Event>{start(process(pid)), exit(process(pid))}, Clock::now());
  };
  deliver();
  CHECK(hub.take_used().empty());
  const Hub::Wish wish{.filter = Filter().include_argument("*s*e*c*r*e*t*x")};
  const Subscriber filtered(hub, charges, kAliceSees, wish);
  deliver();
  const auto used = hub.take_used();
  REQUIRE(used.size() == 1);
  CHECK(used.at(kAlice) > CpuShares::Time(0));
  CHECK(hub.take_used().empty());
}

TEST_CASE("a filter that was ended takes no time, gets nothing, and leaves other streams alone") {
  Hub hub(kHost, ServeLimits(), Ownership());
  Charges charges{ServeLimits()};
  Subscriber plain(hub, charges, kAliceSees, {});
  Subscriber filtered(hub, charges, kAliceSees, {.filter = Filter().include_exe("sh")});
  CHECK(hub.end_filters([](uid_t uid) { return uid == kBob; }).empty());
  const auto ended = hub.end_filters([](uid_t uid) { return uid == kAlice; });
  CHECK(ended == std::vector<Outbox*>{&filtered.outbox});
  hub.take_used();
  const auto now = Clock::now();
  hub.deliver(std::vector<Event>{start(process(5))}, now);
  hub.close_frames(kAliceSees);
  CHECK(hub.take_used().empty());
  CHECK(filtered.told().empty());
  CHECK(plain.told().size() == 1);
  REQUIRE(filtered.joined.stream);
  CHECK_THROWS_AS(hub.require_stream(kAliceSees, *filtered.joined.stream), Error);
}

TEST_CASE("arguments that a client may not see do not select a process") {
  Service service;
  Subscriber subscriber(service.hub, service.charges, kAliceSees, {.filter = Filter().include_argument("secret")});
  // As below sudo.
  service.say({start(process(1)), start(process(2, 1, 0)), exit(process(2, 1, 0))});
  CHECK(subscriber.told() == Told{"process_start 1", "process_start 2", "process_exit 2"});
  Subscriber other(service.hub, service.charges, kAliceSees, {.filter = Filter().include_argument("secre?")});
  service.say({start(process(3, 1, 0))});
  CHECK(other.told().empty());
}
