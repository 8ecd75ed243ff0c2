// SPDX-License-Identifier: Apache-2.0
/// Who sees what, and what each client gets of it.
#include <malloc.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/error.hpp>

#include "base/cpu_shares.hpp"
#include "base/unique_fd.hpp"
#include "builders.hpp"
#include "report/state_tables.hpp"
#include "serve/charges.hpp"
#include "serve/for_others.hpp"
#include "serve/hub.hpp"
#include "serve/listener.hpp"
#include "serve/outbox.hpp"
#include "serve/own_things.hpp"
#include "serve/ownership.hpp"
#include "serve/sight.hpp"
#include "stream_client.hpp"
#include "temp_file.hpp"

using namespace tracer;
using namespace tracer::internal;
using std::chrono::milliseconds;
using Clock = Hub::Clock;

namespace {

constexpr uid_t kAlice = 1000;
constexpr uid_t kBob = 1001;
constexpr Owner kOfAlice{Audience::kOwner, kAlice};
constexpr Owner kOfBob{Audience::kOwner, kBob};
constexpr Owner kOfRoot{Audience::kRoot, 0};
const Sight kAliceSees{.owners = {kAlice}};
const Sight kBobSees{.owners = {kBob}};
const Sight kRootSees{.all = true};

Event start_of(uid_t uid, std::uint32_t pid, std::uint64_t time_ns = 1, std::optional<std::uint32_t> parent = {}) {
  return ProcessStart{
      time_ns,
      build::process({.pid = pid,
                      .start_ns = pid * 10,
                      .parent_pid = parent,
                      .parent_start_ns = parent ? std::optional<std::uint64_t>(*parent * 10) : std::nullopt,
                      .uid = uid,
                      .argv = std::vector<std::string>{"tool", "secret"}}),
      {}};
}

Event exit_of(uid_t uid, std::uint32_t pid, std::uint64_t time_ns = 1) {
  ProcessExit exit = build::exit(pid, time_ns);
  exit.process = build::process({.pid = pid, .start_ns = pid * 10, .uid = uid});
  return exit;
}

using Client = StreamClient;

std::vector<std::uint64_t> times(const std::vector<Event>& events) {
  std::vector<std::uint64_t> all;
  for (const Event& event : events) all.push_back(event.time_ns());
  return all;
}

std::vector<Event> writes(Outbox& outbox, Client& client) { return client.read_all(outbox); }

const HostInfo kHost = [] {
  HostInfo host;
  host.boot_id = "b";
  host.cpu_count = 2;
  return host;
}();

Hub make_hub(ServeLimits limits = {}) { return Hub(kHost, limits, Ownership()); }

template <class F>
ErrorCode code_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode{};
}

}  // namespace

TEST_CASE("a user sees their own, root all, and a group what is shared with it") {
  const Peer alice{kAlice, 1, {500, kAlice}, false};
  const Peer bob{kBob, 1, {500, kBob}, false};
  const Peer root{0, 1, {0}, false};
  const UserIds ids;
  CHECK(may_see(sight_of(alice, ids, {}), kOfAlice));
  CHECK_FALSE(may_see(sight_of(alice, ids, {}), kOfBob));
  CHECK_FALSE(may_see(sight_of(alice, ids, {}), kOfRoot));
  CHECK(may_see(sight_of(alice, ids, {}), {Audience::kEverybody, 0}));
  for (const Owner& owner : {kOfAlice, kOfBob, kOfRoot}) CHECK(may_see(sight_of(root, ids, {}), owner));
  // Being in the same group is not enough.
  CHECK_FALSE(may_see(sight_of(bob, ids, {}), kOfAlice));
  const Sharing sharing = {{kAlice, {500}}};
  CHECK(may_see(sight_of(bob, ids, sharing), kOfAlice));
  CHECK(may_see(sight_of(bob, ids, sharing), kOfBob));
  CHECK_FALSE(may_see(sight_of(alice, ids, sharing), kOfBob));
  CHECK_FALSE(may_see(sight_of(bob, ids, {{0, {500}}}), kOfRoot));
  CHECK_FALSE(may_see(sight_of(bob, ids, {{kAlice, {501}}}), kOfAlice));
}

TEST_CASE("a client with a subordinate user id sees what its user sees, and nobody's with one of root's") {
  const UserIds ids({{kAlice, 100000, 10}, {0, 200000, 10}, {kBob, 300000, 10}, {kAlice, 300005, 10}});
  const auto sight = [&](uid_t uid, const Sharing& sharing = {}) {
    return sight_of(Peer{uid, 1, {500}, false}, ids, sharing);
  };
  Ownership ownership(ids);
  CHECK(may_see(sight(100003), ownership.owner_of(start_of(100003, 1))));
  CHECK(may_see(sight(100003), ownership.owner_of(start_of(kAlice, 2))));
  // One sight, however many numbers there are.
  CHECK(sight(100003) == sight(kAlice));
  CHECK_FALSE(may_see(sight(100003), kOfBob));
  for (const uid_t uid : {200003u, 300007u}) {
    for (const Owner& owner : {kOfAlice, kOfBob, kOfRoot, Owner{Audience::kOwner, uid}, Owner{Audience::kOwner, 0}})
      CHECK_FALSE(may_see(sight(uid), owner));
    CHECK(may_see(sight(uid), {Audience::kEverybody, 0}));
  }
  CHECK(may_see(sight(200003, {{kBob, {500}}}), kOfBob));
}

TEST_CASE("a process is its user's; root's is whose it was that began it") {
  Ownership ownership;
  CHECK(ownership.owner_of(start_of(kAlice, 10)) == kOfAlice);
  // sudo: root's process below Alice's, and what it begins.
  CHECK(ownership.owner_of(start_of(0, 11, 1, 10)) == kOfAlice);
  CHECK(ownership.owner_of(start_of(0, 12, 1, 11)) == kOfAlice);
  CHECK(ownership.owner_of(exit_of(kAlice, 10)) == kOfAlice);
  CHECK(ownership.owner_of(start_of(0, 13, 1, 12)) == kOfAlice);
  // A daemon's is root's, also by a pid that Alice's had.
  CHECK(ownership.owner_of(start_of(0, 20)) == kOfRoot);
  ProcessStart reused{5, build::process({.pid = 10, .start_ns = 999, .uid = 0}), {}};
  CHECK(ownership.owner_of(Event(reused)) == kOfRoot);
  // Bob's below Alice's is Bob's.
  CHECK(ownership.owner_of(start_of(kBob, 30, 1, 11)) == kOfBob);
  ProcessStart unknown{5, build::process({.pid = 40, .start_ns = 1}), {}};
  CHECK(ownership.owner_of(Event(unknown)) == kOfRoot);
  for (const std::uint32_t pid : {11u, 12u, 13u}) ownership.owner_of(exit_of(0, pid));
  ownership.owner_of(exit_of(kBob, 30));
  CHECK(ownership.processes() == 0);
}

TEST_CASE("subordinate user ids are whose they are") {
  const auto ranges = subordinate_ids("alice:100000:65536\nbob:165536:65536\n# x\nnobody:1\n1001:500000:10\n",
                                      [](std::string_view name) {
                                        return name == "alice" ? kAlice : name == "bob" ? kBob : static_cast<uid_t>(-1);
                                      });
  REQUIRE(ranges.size() == 3);
  Ownership ownership{UserIds(ranges)};
  CHECK(ownership.owner_of(start_of(100000, 1)) == kOfAlice);
  CHECK(ownership.owner_of(start_of(165535, 2)) == kOfAlice);
  CHECK(ownership.owner_of(start_of(165536, 3)) == kOfBob);
  CHECK(ownership.owner_of(start_of(500009, 4)) == kOfBob);
  CHECK(ownership.owner_of(start_of(500010, 5)) == Owner{Audience::kOwner, 500010});
  Ownership overlapping{UserIds({{kAlice, 100000, 10}, {kBob, 100005, 10}})};
  CHECK(overlapping.owner_of(start_of(100004, 1)) == kOfAlice);
  CHECK(overlapping.owner_of(start_of(100006, 2)) == kOfRoot);
}

TEST_CASE("a run or task is its own owner's, whoever gives an equal key or is in it") {
  const auto of_user = [](std::optional<uid_t> uid) {
    Context context;
    context.run = "r";
    context.task = "t";
    context.run_key = Key{6};
    context.task_key = Key{7};
    context.owner_uid = uid;
    return context;
  };
  const auto event_of = [](auto event, const Context& context) {
    event.context = std::make_shared<const Context>(context);
    return Event(event);
  };
  const auto in_task = [](uid_t uid, std::uint32_t pid, const Context& context) {
    return Event(ProcessStart{1, build::process({.pid = pid, .start_ns = pid, .uid = uid, .context = context}), {}});
  };
  Ownership ownership;
  const Context alices = of_user(kAlice);
  const Context bobs = of_user(kBob);
  CHECK(ownership.owner_of(event_of(RunStart(), alices)) == kOfAlice);
  CHECK(ownership.owner_of(in_task(kAlice, 1, alices)) == kOfAlice);
  // Bob announces Alice's ids: his run is his all the same, and hers stays hers.
  CHECK(ownership.owner_of(event_of(RunStart(), bobs)) == kOfBob);
  CHECK(ownership.owner_of(event_of(TaskStart(), bobs)) == kOfBob);
  CHECK(ownership.owner_of(in_task(kBob, 2, bobs)) == kOfBob);
  CHECK(ownership.owner_of(event_of(TaskFinish(), alices)) == kOfAlice);
  CHECK(ownership.owner_of(event_of(RunFinish(), bobs)) == kOfBob);
  // Others' processes in it don't take it away, such as root's, or those that Alice began as Bob.
  CHECK(ownership.owner_of(in_task(0, 3, alices)) == kOfRoot);
  CHECK(ownership.owner_of(in_task(kBob, 4, alices)) == kOfBob);
  CHECK(ownership.owner_of(event_of(TaskFinish(), alices)) == kOfAlice);
  CHECK(ownership.owner_of(event_of(TaskFinish(), of_user(std::nullopt))) == kOfRoot);
  CHECK(ownership.owner_of(alices) == kOfAlice);
  // By subordinate ids, too.
  Ownership rootless{UserIds({{kAlice, 100000, 10}})};
  CHECK(rootless.owner_of(of_user(100003)) == kOfAlice);
}

TEST_CASE("a run of root is theirs who began its leader, to its end") {
  Context context;
  context.run = "r";
  context.owner_uid = 0;
  const auto event_of = [&](auto event, std::uint32_t pid) {
    event.context = std::make_shared<const Context>(context);
    event.pid = pid;
    event.start_ns = pid * 10;
    return Event(event);
  };
  Ownership ownership;
  ownership.owner_of(start_of(kAlice, 10));
  ownership.owner_of(start_of(0, 11, 1, 10));
  CHECK(ownership.owner_of(event_of(RunStart(), 11)) == kOfAlice);
  ownership.owner_of(exit_of(0, 11));
  CHECK(ownership.owner_of(event_of(RunFinish(), 11)) == kOfAlice);
  // By Alice's own process as leader, root's run is not hers.
  CHECK(ownership.owner_of(event_of(RunStart(), 10)) == kOfRoot);
  CHECK(ownership.owner_of(event_of(RunFinish(), 10)) == kOfRoot);
  ownership.owner_of(exit_of(kAlice, 10));
  CHECK(ownership.processes() == 0);
}

TEST_CASE("the context of another user's run is kept from the owner of a process in it") {
  Context context;
  context.run = "alice's";
  context.owner_uid = kAlice;
  const Ownership ownership{UserIds({{kAlice, 100000, 10}})};
  const auto context_for = [&](uid_t uid, const Owner& owner) {
    const Event seen = for_owner(Event(ProcessStart{1, build::process({.pid = 1, .uid = uid, .context = context}), {}}),
                                 owner, ownership);
    return seen.get_if<ProcessStart>()->process->context->run;
  };
  CHECK(context_for(kAlice, kOfAlice) == "alice's");
  CHECK(context_for(100001, kOfAlice) == "alice's");
  CHECK(context_for(0, kOfAlice) == "alice's");
  CHECK(context_for(kBob, kOfBob) == std::nullopt);
  ToolSample sample;
  sample.uid = kBob;
  sample.context = std::make_shared<const Context>(context);
  CHECK(for_owner(Event(sample), kOfBob, ownership).get_if<ToolSample>()->context->run == std::nullopt);
  context.owner_uid = 0;
  CHECK(context_for(kBob, kOfBob) == std::nullopt);
}

TEST_CASE("what says something of the host is root's") {
  Ownership ownership;
  CHECK(ownership.owner_of(Event(DeviceSample{})) == kOfRoot);
  CHECK(ownership.owner_of(Event(HostSample{})) == kOfRoot);
  Finding finding;
  finding.subject = "host";
  Context context;
  context.owner_uid = kAlice;
  finding.context = std::make_shared<const Context>(context);
  CHECK(ownership.owner_of(Event(finding)) == kOfRoot);
  finding.subject = "task";
  CHECK(ownership.owner_of(Event(finding)) == kOfAlice);
  CHECK(ownership.owner_of(Event(Loss{})).audience == Audience::kEverybody);
  CgroupSample sample;
  Cgroup cgroup;
  cgroup.path = "/user.slice/user-1000.slice/session-1.scope";
  sample.cgroup = std::make_shared<const Cgroup>(cgroup);
  CHECK(ownership.owner_of(Event(sample)) == kOfAlice);
  cgroup.path = "/system.slice/docker-x.scope";
  cgroup.id = 5;
  sample.cgroup = std::make_shared<const Cgroup>(cgroup);
  CHECK(ownership.owner_of(Event(sample)) == kOfRoot);
}

TEST_CASE("arguments of a process of another user are masked for who may see it") {
  ProcessExec exec;
  exec.process = build::process({.pid = 1, .uid = 0, .exe = "/bin/x", .argv = std::vector<std::string>{"x", "a", "b"}});
  exec.ended.program = exec.process->program;
  const Ownership ownership;
  const Event masked = for_owner(Event(exec), kOfAlice, ownership);
  const auto* got = masked.get_if<ProcessExec>();
  CHECK(*got->process->program->argv == std::vector<std::string>{"x", "***", "***"});
  CHECK(*got->ended.program->argv == std::vector<std::string>{"x", "***", "***"});
  CHECK_FALSE(got->process->program->exe.has_value());
  const Event own = for_owner(start_of(kAlice, 1), kOfAlice, ownership);
  CHECK(own.get_if<ProcessStart>()->process->program->argv->at(1) == "secret");
}

TEST_CASE("each client gets what it may see, in one stream without a gap") {
  Charges charges((ServeLimits()));
  Hub hub = make_hub();
  Client alice, bob, root;
  Outbox to_alice(kHost, charges, kAlice, 4u << 20);
  Outbox to_bob(kHost, charges, kBob, 4u << 20);
  Outbox to_root(kHost, charges, 0, 4u << 20);
  const auto now = Clock::now();
  CHECK(hub.join(to_alice, kAliceSees, {}, {}, {}, now).sequence == 1);
  hub.join(to_bob, kBobSees, {EventKind::kProcessExit}, {}, {}, now);
  hub.join(to_root, kRootSees, {}, {}, {}, now);
  const std::vector<Event> events = {start_of(kAlice, 1, 1), start_of(kBob, 2, 2),  start_of(0, 3, 3),
                                     exit_of(kBob, 2, 4),    exit_of(kAlice, 1, 5), Event(SnapshotEnd{6, 99})};
  hub.deliver(events, now);
  CHECK(hub.take_filled().size() == 3);
  for (const Sight& sight : {kAliceSees, kBobSees, kRootSees}) hub.close_frames(sight);
  const auto of_alice = writes(to_alice, alice);
  CHECK(times(of_alice) == std::vector<std::uint64_t>{1, 5, 6});
  CHECK(of_alice.back().get_if<SnapshotEnd>()->processes == 0);
  CHECK(times(writes(to_bob, bob)) == std::vector<std::uint64_t>{4});
  CHECK(times(writes(to_root, root)) == std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6});
  CHECK(hub.last_number(kAliceSees) == 3);
  CHECK(hub.last_number(kBobSees) == 3);
  // Later, and by time.
  hub.deliver(std::vector<Event>{start_of(kAlice, 7, 7)}, now);
  hub.tick(now + milliseconds(50));
  CHECK(writes(to_alice, alice).empty());
  hub.tick(now + milliseconds(101));
  CHECK(times(writes(to_alice, alice)) == std::vector<std::uint64_t>{7});
  for (Outbox* outbox : {&to_alice, &to_bob, &to_root}) hub.leave(*outbox, now);
}

TEST_CASE("by owner, each event is taken once, and what is everybody's for each who has had an event") {
  Charges charges((ServeLimits()));
  Hub hub = make_hub();
  std::map<uid_t, std::vector<Event>> taken;
  hub.take_by_owner([&taken](uid_t owner, const Event& event) { taken[owner].push_back(event); });
  const auto now = Clock::now();
  Client alice;
  Outbox to_alice(kHost, charges, kAlice, 4u << 20);
  hub.join(to_alice, kAliceSees, {}, {}, {}, now);
  ProcessSample sample;
  sample.time_ns = 5;
  sample.process = build::process({.pid = 1, .start_ns = 10, .uid = kAlice});
  hub.deliver(std::vector<Event>{start_of(kAlice, 1, 1), SnapshotEnd{2, 9}, start_of(0, 3, 3), start_of(kBob, 2, 4),
                                 sample, SnapshotEnd{6, 9}, start_of(0, 8, 7, 1), HostSample{}, exit_of(kBob, 2, 9)},
              now);
  CHECK(taken.size() == 3);
  CHECK(times(taken[kAlice]) == std::vector<std::uint64_t>{1, 2, 5, 6, 7});
  CHECK(times(taken[kBob]) == std::vector<std::uint64_t>{4, 6, 9});
  CHECK(times(taken[0]) == std::vector<std::uint64_t>{3, 6, 0});
  CHECK(taken[kAlice][3].get_if<SnapshotEnd>()->processes == 1);
  CHECK(taken[kBob][1].get_if<SnapshotEnd>()->processes == 0);
  // What root ran for her, and what it ran for itself.
  CHECK(taken[kAlice][4].get_if<ProcessStart>()->process->program->argv->at(1) == "***");
  CHECK(taken[0][0].get_if<ProcessStart>()->process->program->argv->at(1) == "secret");
  const std::vector<Event> living = {start_of(kAlice, 1, 1), start_of(0, 3, 3), start_of(0, 8, 7, 1)};
  auto of_owners = hub.by_owner(living);
  CHECK(times(of_owners[kAlice]) == std::vector<std::uint64_t>{1, 7});
  CHECK(times(of_owners[0]) == std::vector<std::uint64_t>{3});
  CHECK(of_owners[kAlice][1].get_if<ProcessStart>()->process->program->argv->at(1) == "***");
  // No client sees what is taken for root, but root.
  hub.close_frames(kAliceSees);
  CHECK(times(writes(to_alice, alice)) == std::vector<std::uint64_t>{1, 2, 5, 6, 7});
  hub.leave(to_alice, now);
}

TEST_CASE("a late client gets what lives first, and nothing twice") {
  Charges charges((ServeLimits()));
  Hub hub = make_hub();
  const auto now = Clock::now();
  Client early, late;
  Outbox to_early(kHost, charges, kAlice, 4u << 20);
  Outbox to_late(kHost, charges, kAlice, 4u << 20);
  hub.join(to_early, kAliceSees, {}, {}, {}, now);
  hub.deliver(std::vector<Event>{start_of(kAlice, 1, 1), start_of(kBob, 2, 2), start_of(kAlice, 3, 3)}, now);
  const std::vector<Event> living = {start_of(kAlice, 1, 1), start_of(kBob, 2, 2)};
  const auto joined = hub.join(to_late, kAliceSees, {}, living, {}, now);
  CHECK(joined.sequence == 3);
  CHECK(joined.living == 1);
  hub.deliver(std::vector<Event>{exit_of(kAlice, 1, 4)}, now);
  hub.close_frames(kAliceSees);
  CHECK(times(writes(to_late, late)) == std::vector<std::uint64_t>{1, 4});
  CHECK(times(writes(to_early, early)) == std::vector<std::uint64_t>{1, 3, 4});
  hub.leave(to_early, now);
  hub.leave(to_late, now);
}

TEST_CASE("a client that connects again gets what it missed, or how much is gone") {
  Charges charges((ServeLimits()));
  Hub hub = make_hub({.bytes_kept = 1});
  const auto now = Clock::now();
  {
    Outbox first(kHost, charges, kAlice, 4u << 20);
    hub.join(first, kAliceSees, {}, {}, {}, now);
    for (std::uint32_t i = 1; i <= 3; ++i) hub.deliver(std::vector<Event>{start_of(kAlice, i, i)}, now);
    hub.close_frames(kAliceSees);
    for (std::uint32_t i = 4; i <= 9; ++i) hub.deliver(std::vector<Event>{start_of(kAlice, i, i)}, now);
    hub.leave(first, now);
  }
  // The first three went with their frame: no more than one is kept.
  for (std::uint64_t from = 1; from <= 10; ++from) {
    Client client;
    Outbox outbox(kHost, charges, kAlice, 4u << 20);
    const auto joined = hub.join(outbox, kAliceSees, {}, {}, from, now);
    CHECK(joined.missed == (from < 4 ? 4 - from : 0));
    CHECK(joined.sequence == std::max<std::uint64_t>(from, 4));
    const auto got = writes(outbox, client);
    CHECK(got.size() == 10 - joined.sequence);
    if (!got.empty()) CHECK(got.front().time_ns() == joined.sequence);
    hub.leave(outbox, now);
  }
  Outbox outbox(kHost, charges, kAlice, 4u << 20);
  CHECK(code_of([&] { hub.join(outbox, kAliceSees, {}, {}, 11, now); }) == ErrorCode::kInvalidArgument);
  CHECK(code_of([&] { hub.join(outbox, kAliceSees, {}, {}, 0, now); }) == ErrorCode::kInvalidArgument);
  // Of some kinds only.
  hub.deliver(std::vector<Event>{exit_of(kAlice, 4, 10)}, now);
  Client client;
  const auto joined = hub.join(outbox, kAliceSees, {EventKind::kProcessExit}, {}, 10, now);
  CHECK(joined.sequence == 10);
  CHECK(times(writes(outbox, client)) == std::vector<std::uint64_t>{10});
  hub.leave(outbox, now);
  // After a while nothing is kept.
  hub.tick(now + std::chrono::seconds(61));
  Outbox late(kHost, charges, kAlice, 4u << 20);
  CHECK(hub.join(late, kAliceSees, {}, {}, 1, now).missed == 10);
  hub.leave(late, now);
}

TEST_CASE("a slow client loses its own oldest frames, and is told how many events of which kinds") {
  Charges charges((ServeLimits()));
  Hub hub = make_hub();
  const auto now = Clock::now();
  Client slow, quick;
  constexpr std::size_t kCapacity = 20000;
  Outbox to_slow(kHost, charges, kAlice, kCapacity);
  Outbox to_quick(kHost, charges, kAlice, 4u << 20);
  hub.join(to_slow, kAliceSees, {}, {}, {}, now);
  hub.join(to_quick, kAliceSees, {}, {}, {}, now);
  std::uint64_t got_quick = 0;
  constexpr std::uint32_t kRounds = 200;
  for (std::uint32_t i = 1; i <= kRounds; ++i) {
    hub.deliver(std::vector<Event>{start_of(kAlice, i, 2 * i), exit_of(kAlice, i, 2 * i + 1)}, now);
    hub.close_frames(kAliceSees);
    CHECK(to_slow.held_bytes() <= kCapacity);
    got_quick += writes(to_quick, quick).size();
  }
  CHECK(got_quick == 2 * kRounds);
  CHECK(to_quick.dropped() == 0);
  CHECK(to_slow.stalled(now + std::chrono::hours(1), std::chrono::seconds(30)));
  const auto got = writes(to_slow, slow);
  REQUIRE(got.size() > 1);
  const auto* loss = got.front().get_if<Loss>();
  REQUIRE(loss != nullptr);
  CHECK(loss->cause == "queue_full");
  CHECK(loss->count == to_slow.dropped());
  CHECK(loss->count + got.size() - 1 == 2 * kRounds);
  CHECK(loss->first_ns == 2u);
  REQUIRE(loss->by_kind.size() == 2);
  CHECK(loss->by_kind[0].count == loss->count / 2);
  CHECK(got[1].time_ns() == *loss->last_ns + 1);
  CHECK_FALSE(to_slow.stalled(Clock::now() + std::chrono::hours(1), std::chrono::seconds(30)));
  CHECK(to_slow.held_bytes() == 0);
  hub.leave(to_slow, now);
  hub.leave(to_quick, now);
}

TEST_CASE("what a full socket did not take is not lost again") {
  Charges charges((ServeLimits()));
  Hub hub = make_hub();
  const auto now = Clock::now();
  Client slow;
  const int least = 1;
  REQUIRE(::setsockopt(slow.service.get(), SOL_SOCKET, SO_SNDBUF, &least, sizeof least) == 0);
  Outbox outbox(kHost, charges, kAlice, 4096);
  hub.join(outbox, kAliceSees, {}, {}, {}, now);
  std::vector<Event> got;
  std::uint64_t sent = 0;
  for (std::uint32_t i = 1; i <= 300; ++i) {
    hub.deliver(std::vector<Event>{start_of(kAlice, i, i)}, now);
    hub.close_frames(kAliceSees);
    ++sent;
    REQUIRE(outbox.write(slow.service.get(), now) != Outbox::Written::kFailed);
    // It reads now and then.
    if (i % 50 != 0) continue;
    const auto some = slow.read();
    got.insert(got.end(), some.begin(), some.end());
  }
  const auto rest = writes(outbox, slow);
  got.insert(got.end(), rest.begin(), rest.end());
  std::uint64_t lost = 0;
  std::uint64_t losses = 0;
  for (const Event& event : got) {
    const auto* loss = event.get_if<Loss>();
    if (loss == nullptr) continue;
    ++losses;
    lost += loss->count;
    for (const KindCount& kind : loss->by_kind) CHECK(kind.kind == EventKind::kProcessStart);
  }
  CHECK(losses > 1);
  CHECK(lost == outbox.dropped());
  CHECK(got.size() - losses + lost == sent);
  hub.leave(outbox, now);
}

TEST_CASE("what says what lives is lost apart from what has numbers") {
  Charges charges((ServeLimits()));
  Hub hub = make_hub();
  const auto now = Clock::now();
  Client client;
  Outbox outbox(kHost, charges, kAlice, 20000);
  std::vector<Event> living;
  for (std::uint32_t i = 1; i <= 20000; ++i) living.push_back(start_of(kAlice, i, i));
  const auto joined = hub.join(outbox, kAliceSees, {}, living, {}, now);
  CHECK(joined.living == living.size());
  constexpr std::uint32_t kRounds = 200;
  for (std::uint32_t i = 1; i <= kRounds; ++i) {
    hub.deliver(std::vector<Event>{exit_of(kAlice, i, 100'000 + i)}, now);
    hub.close_frames(kAliceSees);
  }
  std::uint64_t living_seen = 0;
  std::uint64_t numbered_seen = 0;
  for (const Event& event : writes(outbox, client)) {
    const auto* loss = event.get_if<Loss>();
    if (loss != nullptr) {
      (loss->cause == "living_dropped" ? living_seen : numbered_seen) += loss->count;
    } else {
      ++(event.kind() == EventKind::kProcessStart ? living_seen : numbered_seen);
    }
  }
  CHECK(living_seen == joined.living);
  CHECK(numbered_seen == kRounds);
  CHECK(outbox.dropped() > 0);
  // What the service itself has lost has a number like any other event.
  Loss own;
  own.cause = "queue_full";
  own.count = 7;
  hub.deliver(std::vector<Event>{Event(own)}, now);
  hub.close_frames(kAliceSees);
  const auto told = writes(outbox, client);
  REQUIRE(told.size() == 1);
  CHECK(told[0].get_if<Loss>()->cause == "service_queue_full");
  hub.leave(outbox, now);
}

TEST_CASE("recent events of all users are bounded: who holds most loses first") {
  Charges charges((ServeLimits()));
  Hub hub = make_hub({.bytes_kept = 1u << 20, .bytes_kept_of_all = 20000});
  const auto now = Clock::now();
  Outbox to_alice(kHost, charges, kAlice, 1u << 20);
  Outbox to_bob(kHost, charges, kBob, 1u << 20);
  hub.join(to_alice, kAliceSees, {}, {}, {}, now);
  hub.join(to_bob, kBobSees, {}, {}, {}, now);
  hub.deliver(std::vector<Event>{start_of(kBob, 1, 1)}, now);
  hub.close_frames(kBobSees);
  for (std::uint32_t i = 1; i <= 200; ++i) {
    hub.deliver(std::vector<Event>{start_of(kAlice, i, i)}, now);
    hub.close_frames(kAliceSees);
  }
  Outbox again(kHost, charges, kAlice, 1u << 20);
  CHECK(hub.join(again, kAliceSees, {}, {}, 1, now).missed > 0);
  hub.leave(again, now);
  Outbox bobs(kHost, charges, kBob, 1u << 20);
  CHECK(hub.join(bobs, kBobSees, {}, {}, 1, now).missed == 0);
  for (Outbox* outbox : {&to_alice, &to_bob, &bobs}) hub.leave(*outbox, now);
}

TEST_CASE("what subordinate user ids hold is charged to their user") {
  ServeLimits limits;
  limits.bytes_of_user = 2;
  Charges charges(limits, std::make_shared<Accounts>(UserIds({{kAlice, 100000, 10}})));
  CHECK(charges.take(kAlice, Charged::kBytes, 1));
  CHECK(charges.take(100003, Charged::kBytes, 1));
  CHECK_FALSE(charges.take(100004, Charged::kBytes, 1));
  CHECK(charges.take(kBob, Charged::kBytes, 1));
  charges.give_back(100003, Charged::kBytes, 1);
  CHECK(charges.take(100004, Charged::kBytes, 1));
}

TEST_CASE("a user may have as many connections as are free, and root always some") {
  ServeLimits limits;
  limits.connections = 100 + Charges::kConnectionsOfRoot;
  Charges charges(limits);
  const auto take_all = [&charges](uid_t uid) {
    std::size_t taken = 0;
    while (charges.take(uid, Charged::kConnections, 1)) ++taken;
    return taken;
  };
  CHECK(take_all(kAlice) == 50);
  CHECK(take_all(kBob) == 25);
  CHECK(take_all(kAlice) == 0);
  for (uid_t uid = 5000; uid < 5003; ++uid) CHECK(take_all(uid) > 0);
  CHECK(charges.take(0, Charged::kConnections, Charges::kConnectionsOfRoot));
  charges.give_back(kAlice, Charged::kConnections, 50);
  CHECK(take_all(kAlice) > 15);
}

TEST_CASE("a user's clients share what the user may hold; another user is not touched") {
  ServeLimits limits;
  limits.bytes_of_user = 30000;
  Charges charges(limits);
  Hub hub = make_hub(limits);
  const auto now = Clock::now();
  std::vector<std::unique_ptr<Outbox>> of_alice;
  for (int i = 0; i < 8; ++i) {
    of_alice.push_back(std::make_unique<Outbox>(kHost, charges, kAlice, 1u << 20));
    hub.join(*of_alice.back(), kAliceSees, {}, {}, {}, now);
  }
  Client bob;
  Outbox to_bob(kHost, charges, kBob, 1u << 20);
  hub.join(to_bob, kBobSees, {}, {}, {}, now);
  std::size_t got_bob = 0;
  for (std::uint32_t i = 1; i <= 100; ++i) {
    hub.deliver(std::vector<Event>{start_of(kAlice, i, i), start_of(kBob, 1000 + i, i)}, now);
    hub.close_frames(kAliceSees);
    hub.close_frames(kBobSees);
    got_bob += writes(to_bob, bob).size();
    CHECK(charges.accounts().at(kAlice).of(Charged::kBytes) <= limits.bytes_of_user);
  }
  std::uint64_t dropped = 0;
  for (const auto& each : of_alice) dropped += each->dropped();
  CHECK(dropped > 0);
  CHECK(charges.accounts().at(kAlice).dropped_events == dropped);
  CHECK(to_bob.dropped() == 0);
  for (const auto& each : of_alice) hub.leave(*each, now);
  of_alice.clear();
  CHECK(got_bob == 100);
  hub.leave(to_bob, now);
}

TEST_CASE("findings are kept in their last state, for who may see them") {
  Hub hub = make_hub();
  Context context;
  context.owner_uid = kAlice;
  Finding finding;
  finding.subject = "task";
  finding.context = std::make_shared<const Context>(context);
  for (std::uint64_t i = 1; i <= StateTables::kMostFindings + 10; ++i) {
    finding.finding_key = Key{i};
    finding.time_ns = i;
    hub.deliver(std::vector<Event>{Event(finding)}, Clock::now());
  }
  finding.state = "closed";
  finding.time_ns = 1u << 20;
  hub.deliver(std::vector<Event>{Event(finding)}, Clock::now());
  const std::vector<Finding> seen = hub.findings(kAliceSees, 0);
  CHECK(seen.size() > 1000);
  CHECK(seen.size() <= StateTables::kMostFindings);
  CHECK(seen.back().state == "closed");
  CHECK(hub.findings(kAliceSees, 1u << 20).size() == 1);
  CHECK(hub.findings(kBobSees, 0).empty());
  // Of a file that another user opened.
  finding.time_ns = 2u << 20;
  finding.evidence = {{"path", {}, {}, "/secret/file"}, {"euid", 0, {}, {}}};
  hub.deliver(std::vector<Event>{Event(finding)}, Clock::now());
  CHECK(hub.findings(kAliceSees, 2u << 20).at(0).evidence[0].text == "***");
  CHECK(hub.findings({.owners = {kAlice, kBob}}, 2u << 20).at(0).evidence[0].text == "***");
  CHECK(hub.findings({.all = true}, 2u << 20).at(0).evidence[0].text == "/secret/file");
}

TEST_CASE("one user's findings push out nobody else's, and all together are bounded by their bytes") {
  constexpr std::size_t kMost = 12u << 20;
  const auto accounts = std::make_shared<Accounts>();
  StateTables state("s", accounts, false, kMost);
  const auto note = [&](std::uint64_t key, uid_t uid, std::size_t bytes) {
    Finding finding;
    finding.finding_key = Key{key};
    finding.time_ns = key;
    finding.text = std::string(bytes, 'x');
    state.add(Event(finding), uid);
  };
  note(1, kBob, 10);
  for (std::uint64_t i = 2; i <= 3000; ++i) note(i, kAlice, 16u << 10);
  REQUIRE(state.findings(0, {{kBob}}).size() == 1);
  const std::string counts = state.json({.rows = {"counts"}}, {{kAlice}});
  constexpr std::string_view kDropped = "\"dropped\":";
  const std::size_t kept = 2999 - std::stoul(counts.substr(counts.find(kDropped) + kDropped.size()));
  CHECK(kept < 1000);
  CHECK(accounts->all().at(kAlice).bytes <= kMost / 2);
  // The newest, as far as they fit into one reply.
  const std::vector<Finding> seen = state.findings(0, {{kAlice}});
  CHECK(seen.back().time_ns == 3000);
  CHECK(seen.size() < kept);
  CHECK(seen.front().time_ns == 3000 - seen.size() + 1);
}

TEST_CASE("a finding that says what another user's process in a run is and did is root's") {
  const auto in_run = [](uid_t uid, std::uint32_t pid) {
    Context context;
    context.run = "alice's";
    context.owner_uid = kAlice;
    return build::process({.pid = pid, .start_ns = pid * 10, .uid = uid, .context = context});
  };
  Ownership ownership;
  for (const auto& process : {in_run(kAlice, 10), in_run(kBob, 11), in_run(0, 12)}) {
    ownership.owner_of(Event(ProcessStart{1, process, {}}));
    ProcessExit exit = build::exit(process->pid, 2);
    exit.process = process;
    ownership.owner_of(Event(exit));
  }
  const auto owner_of_finding = [&](std::optional<std::uint32_t> pid) {
    Finding finding;
    finding.subject = "process";
    finding.context = in_run(kAlice, 10)->context;
    finding.pid = pid;
    if (pid) finding.start_ns = *pid * 10;
    return ownership.owner_of(Event(finding));
  };
  CHECK(owner_of_finding(10) == kOfAlice);
  CHECK(owner_of_finding(11) == kOfRoot);
  CHECK(owner_of_finding(12) == kOfRoot);
  CHECK(owner_of_finding(std::nullopt) == kOfAlice);
}

#ifdef __GLIBC__
TEST_CASE("clients that came and went cost no more than a number each") {
  Hub hub = make_hub();
  Charges charges((ServeLimits()));
  auto now = Clock::now();
  const auto held = [] {
    const auto info = ::mallinfo2();
    return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
  };
  const std::int64_t before = held();
  constexpr uid_t kUsers = 3000;
  for (uid_t uid = 20000; uid < 20000 + kUsers; ++uid) {
    const Sight sight{.owners = {uid}};
    Outbox outbox(kHost, charges, uid, 4u << 20);
    hub.join(outbox, sight, {}, {}, {}, now);
    hub.deliver(std::vector<Event>{start_of(uid, 1, 1)}, now);
    hub.leave(outbox, now);
  }
  hub.take_filled();
  // What everybody gets is for all of them.
  hub.deliver(std::vector<Event>{Event(SnapshotEnd{2, 99})}, now);
  CHECK(held() - before < std::int64_t{16} << 20);
  now += milliseconds(101);
  hub.tick(now);
  CHECK(hub.views() == kUsers);
  CHECK(held() - before < std::int64_t{16} << 20);
  now += std::chrono::seconds(61);
  hub.tick(now);
  CHECK(hub.views() == 0);
  CHECK(held() - before < std::int64_t{2} << 20);
  // Nobody looked, and the number goes on.
  hub.deliver(std::vector<Event>{start_of(20001, 2, 3)}, now);
  CHECK(hub.last_number({.owners = {20001}}) == 3);
  CHECK(hub.last_number({.owners = {20002}}) == 2);
}
#endif

TEST_CASE("one user's requests take a quarter of a CPU, and another's are all answered") {
  CpuShares shares;
  const Clock::time_point begin{};
  const auto turns_in = [&](milliseconds from, milliseconds to, uid_t uid, milliseconds each) {
    int turns = 0;
    for (auto at = from; at < to; at += milliseconds(1)) {
      if (shares.rests_until(uid, begin + at)) continue;
      shares.charge(uid, each, begin + at);
      ++turns;
    }
    return turns;
  };
  // What has not been used for long may be used at once, and a quarter from then on.
  CHECK(turns_in(milliseconds(0), milliseconds(1000), kAlice, milliseconds(10)) == 25 + 25);
  CHECK(turns_in(milliseconds(1000), milliseconds(2000), kAlice, milliseconds(10)) == 25);
  CHECK(turns_in(milliseconds(0), milliseconds(1000), kBob, milliseconds(0)) == 1000);
  CHECK(turns_in(milliseconds(2000), milliseconds(2100), 0, milliseconds(10)) == 100);
  // One long one is paid for later.
  shares.charge(kBob, std::chrono::seconds(2), begin + milliseconds(2000));
  const auto until = shares.rests_until(kBob, begin + milliseconds(2000));
  REQUIRE(until);
  CHECK(*until == begin + milliseconds(2000) + milliseconds(7000));
  CHECK_FALSE(shares.is_beyond(kBob, CpuShares::kFarBeyond, begin + milliseconds(2000)));
  CHECK_FALSE(shares.rests_until(kBob, *until));
  shares.charge(kBob, std::chrono::seconds(2), *until);
  CHECK(shares.is_beyond(kBob, CpuShares::kFarBeyond, *until));
  CHECK_FALSE(shares.is_beyond(kAlice, CpuShares::kFarBeyond, *until));
  CHECK_FALSE(shares.is_beyond(kBob, CpuShares::kFarBeyond, *until + milliseconds(1000)));
  shares.forget_idle(*until + std::chrono::seconds(10));
  CHECK(shares.users() == 0);
}

TEST_CASE("a socket appears with its mode, replaces a stale one, and never one that is served") {
  const TempFile file;
  const auto& folder = file.folder();
  const auto path = folder / "s.sock";
  {
    const UniqueFd first = listen_on(path, 0666);
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0666);
    CHECK(code_of([&] { listen_on(path, 0666); }) == ErrorCode::kContradiction);
  }
  CHECK_NOTHROW(listen_on(path, 0600));
  CHECK(code_of([&] { listen_on(folder / std::string(200, 'x'), 0666); }) == ErrorCode::kInvalidArgument);
  CHECK(code_of([&] { listen_on("relative.sock", 0666); }) == ErrorCode::kInvalidArgument);
  CHECK(code_of([&] { listen_on(folder / "missing" / "s.sock", 0666); }) == ErrorCode::kFileUnwritable);
  CHECK(code_of([&] { listen_on(folder, 0666); }) == ErrorCode::kFileUnwritable);
}
