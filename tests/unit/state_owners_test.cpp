// SPDX-License-Identifier: Apache-2.0
/// The present state of a session, and whose rows a service gives to whom.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/session.hpp>
#include <tracer/state.hpp>
#include <tracer/testing.hpp>

#include "base/accounts.hpp"
#include "builders.hpp"
#include "report/state_tables.hpp"
#include "serve/hub.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr uid_t kAlice = 1000;
constexpr uid_t kBob = 1001;

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Context task_of(uid_t uid, const std::string& name, std::uint64_t key) {
  Context context;
  context.run = name + "-run";
  context.task = name + "-task";
  context.run_key = Key{key};
  context.task_key = Key{key + 1};
  context.owner_uid = uid;
  return context;
}

/// A process of this user, which begins and ends in the task.
std::vector<Event> life_of(uid_t uid, std::uint32_t pid, const Context& context) {
  const auto process = build::process({.pid = pid, .start_ns = pid * 10, .uid = uid, .context = context});
  ProcessExit exit = build::exit(pid, pid * 10 + 5);
  exit.process = process;
  exit.start_ns = process->start_ns;
  exit.account.cpu_ns = 3;
  return {ProcessStart{process->start_ns, process, {}}, exit};
}

template <class E>
Event of_task(const Context& context, std::uint64_t time_ns) {
  E event;
  event.time_ns = time_ns;
  event.context = std::make_shared<const Context>(context);
  if constexpr (requires { event.end_ns; }) event.end_ns = time_ns;
  return event;
}

}  // namespace

TEST_CASE("a session has the state of what it has delivered, also after its end") {
  testing::FakeSource fake;
  Session session(fake.source(), {.reader = ReaderMode::kPoll});
  CHECK(has(session.state(), "\"tasks\":[]"));
  session.start();
  const Context context = task_of(kAlice, "alices", 16);
  fake.push(of_task<TaskStart>(context, 1));
  for (const Event& event : life_of(kAlice, 7, context)) fake.push(event);
  session.poll(std::chrono::milliseconds(100));
  const std::string running = session.state({.rows = {"tasks"}});
  CHECK(has(running, "alices-task"));
  CHECK(has(running, "\"running\""));
  CHECK_FALSE(has(running, "\"runs\""));
  fake.push(of_task<TaskFinish>(context, 100));
  fake.finish();
  while (!session.finished()) session.poll(std::chrono::milliseconds(100));
  CHECK(has(session.state({.rows = {"tasks"}}), "\"finished\""));
}

TEST_CASE("who sees what of the state is as of the events") {
  Hub hub({}, {}, Ownership());
  const auto now = Hub::Clock::now();
  const Context alices = task_of(kAlice, "alices", 16);
  const Context bobs = task_of(kBob, "bobs", 32);
  const Context roots = task_of(0, "roots", 48);
  for (const Context& context : {alices, bobs, roots}) {
    hub.deliver(std::vector<Event>{of_task<RunStart>(context, 1), of_task<TaskStart>(context, 1)}, now);
    hub.deliver(life_of(*context.owner_uid, *context.owner_uid + 100, context), now);
  }
  // Bob's, inside of Alice's and root's tasks.
  hub.deliver(life_of(kBob, 7, alices), now);
  hub.deliver(life_of(kBob, 8, roots), now);
  const auto state_of = [&](const std::optional<std::vector<uid_t>>& owners, const StateQuery& query = {}) {
    return hub.state()->json(query, owners);
  };
  const std::string alice = state_of({{kAlice}});
  CHECK(has(alice, "alices-task"));
  CHECK_FALSE(has(alice, "bobs"));
  CHECK_FALSE(has(alice, "roots"));
  const std::string bob = state_of({{kBob}});
  CHECK(has(bob, "bobs-task"));
  CHECK_FALSE(has(bob, "alices"));
  CHECK_FALSE(has(bob, "roots"));
  const std::string both = state_of({{kAlice, kBob}});
  CHECK(has(both, "alices-task"));
  CHECK(has(both, "bobs-task"));
  CHECK_FALSE(has(both, "roots"));
  const std::string nobody = state_of(std::vector<uid_t>());
  for (const char* const name : {"alices", "bobs", "roots"}) CHECK_FALSE(has(nobody, name));
  for (const char* const name : {"alices", "bobs", "roots"}) CHECK(has(state_of({}), name));

  // Figures are sums of what may be seen: in Alice's task are one process of hers, and one of Bob's.
  const StateQuery processes{.rows = {"tasks"}, .key = to_string(*alices.task_key), .fields = {"processes"}};
  CHECK(has(state_of({{kAlice}}, processes), "\"processes\":1"));
  CHECK(has(state_of({}, processes), "\"processes\":2"));
  CHECK_FALSE(has(state_of({{kBob}}, processes), "\"pid\""));
}

TEST_CASE("what the state keeps is charged to its owner, and bounded when it is over") {
  constexpr std::size_t kMost = 256u << 10;
  const auto accounts = std::make_shared<Accounts>();
  StateTables state("s", accounts, false, kMost);
  const auto held_by = [&](uid_t uid) {
    const auto all = accounts->all();
    const auto found = all.find(uid);
    return found == all.end() ? 0 : found->second.bytes;
  };
  const auto end_task = [&](const Context& context, std::uint32_t pid) {
    state.add(of_task<TaskStart>(context, pid), context.owner_uid);
    for (const Event& event : life_of(*context.owner_uid, pid, context)) state.add(event, context.owner_uid);
    Finding finding;
    finding.finding_key = Key{pid};
    finding.text = std::string(4096, 'f');
    finding.context = std::make_shared<const Context>(context);
    state.add(finding, context.owner_uid);
    state.add(of_task<TaskFinish>(context, pid + 1), context.owner_uid);
    state.add(SnapshotEnd{});
  };
  end_task(task_of(kBob, "bobs", 16), 5);
  const std::size_t of_bob = held_by(kBob);
  CHECK(of_bob > 4096);
  for (std::uint32_t i = 0; i < 500; ++i) {
    // Each in a run and a step of its own.
    Context context = task_of(kAlice, "alices" + std::to_string(i), 100 + 2 * i);
    context.step = std::string(1000, 's') + std::to_string(i);
    context.pipeline = std::string(4096, 'p');
    end_task(context, 1000 + i);
  }
  CHECK(held_by(kAlice) > kMost);
  // Of runs and tasks in both tables, and of findings.
  CHECK(held_by(kAlice) < 3 * kMost);
  CHECK(held_by(kBob) == of_bob);
  const std::string bob = state.json({}, {{kBob}});
  CHECK(has(bob, "bobs-task"));
  CHECK(has(bob, "\"dropped\":0"));
  CHECK(has(bob, "fff"));
  const std::string alice = state.json({}, {{kAlice}});
  CHECK(has(alice, "alices499-task"));
  CHECK_FALSE(has(alice, "alices0-task"));
  CHECK_FALSE(has(alice, "\"dropped\":0"));
}
