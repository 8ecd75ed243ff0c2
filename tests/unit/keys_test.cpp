// SPDX-License-Identifier: Apache-2.0
#include "context/keys.hpp"

#include <optional>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "base/sip_hash.hpp"
#include "context/layers.hpp"

using namespace tracer;
using internal::KeyOrigin;

namespace {

const KeyOrigin kHost{"boot-1", "session-1"};
const KeyOrigin kOtherHost{"boot-2", "session-2"};

Context with_keys(Context context, const KeyOrigin& origin) {
  internal::set_run_key(context, origin);
  internal::set_task_key(context, origin);
  return context;
}

/// Of a run that the engine has an id for.
Context known_task(std::uint32_t attempt = 1) {
  Context context{.run = "happy_curie",
                  .task = "ALIGN (S1)",
                  .task_id = "ab/cdef12",
                  .attempt = attempt,
                  .engine = "nextflow",
                  .run_id = "0c1f"};
  internal::stamp(context, Provenance::kEngineRule);
  return context;
}

/// Of a run and a task that only a process stands for.
Context made_up_task() {
  Context context{.task_id = "12-3e8", .engine = "make", .run_id = "11-3e0"};
  internal::stamp(context, Provenance::kInferred);
  return context;
}

}  // namespace

TEST_CASE("a key is shown as 16 hexadecimal digits and read back") {
  CHECK(to_string(Key{0x2a}) == "000000000000002a");
  CHECK(key_from("000000000000002a") == Key{0x2a});
  CHECK(key_from("2A") == Key{0x2a});
  for (const char* wrong : {"", "g", "0x2a", " 2a", "2a ", "10000000000000000", "-1"}) {
    CAPTURE(wrong);
    CHECK_FALSE(key_from(wrong));
  }
}

TEST_CASE("what the engine has ids for has the same keys on all hosts") {
  const Context here = with_keys(known_task(), kHost);
  const Context there = with_keys(known_task(), kOtherHost);
  REQUIRE(here.run_key);
  REQUIRE(here.task_key);
  CHECK(here.run_key == there.run_key);
  CHECK(here.task_key == there.task_key);
}

TEST_CASE("ids that were made up of a process are told apart by the host") {
  const Context here = with_keys(made_up_task(), kHost);
  const Context there = with_keys(made_up_task(), kOtherHost);
  CHECK(here.run_key == with_keys(made_up_task(), {"boot-1", "another session"}).run_key);
  CHECK(here.run_key != there.run_key);
  CHECK(here.task_key != there.task_key);
  Context of_known_run = made_up_task();
  of_known_run.provenance.run_id = Provenance::kAnnounced;
  CHECK(with_keys(of_known_run, kHost).run_key == with_keys(of_known_run, kOtherHost).run_key);
  CHECK(with_keys(of_known_run, kHost).task_key != with_keys(of_known_run, kOtherHost).task_key);
}

TEST_CASE("a retry has a key of its own, and the engine's id joins the attempts") {
  const Context first = with_keys(known_task(1), kHost);
  const Context second = with_keys(known_task(2), kHost);
  CHECK(first.run_key == second.run_key);
  CHECK(first.task_key != second.task_key);
  CHECK(first.task_id == second.task_id);
  Context unsaid = known_task();
  unsaid.attempt.reset();
  CHECK(with_keys(unsaid, kHost).task_key == first.task_key);
}

TEST_CASE("what is in no run or task has no key") {
  CHECK(with_keys({.sample = "S1"}, kHost).run_key == std::nullopt);
  CHECK(with_keys({.sample = "S1"}, kHost).task_key == std::nullopt);
  CHECK(with_keys({.run = "r1"}, kHost).task_key == std::nullopt);
}

TEST_CASE("a run that has only a name is one in its session") {
  const Context named{.pipeline = "p", .run = "r1"};
  CHECK(with_keys(named, kHost).run_key == with_keys(named, kHost).run_key);
  CHECK(with_keys(named, kHost).run_key != with_keys(named, {"boot-1", "session-2"}).run_key);
  CHECK(with_keys(named, kHost).run_key != with_keys({.pipeline = "pr", .run = "1"}, kHost).run_key);
}

TEST_CASE("equal names and ids of two users, and of nobody, have different keys") {
  const auto owned = [](Context context, std::optional<uid_t> owner, const KeyOrigin& origin = kHost) {
    internal::stamp(context, Provenance::kLabel);
    internal::set_run_key(context, origin, owner);
    internal::set_task_key(context, origin, owner);
    return context;
  };
  const std::vector<Context> all = {{.pipeline = "p", .run = "r1"},
                                    {.engine = "nextflow", .run_id = "0c1f"},
                                    {.task_id = "12.1"},
                                    {.step = "s"},
                                    {.run = "r1", .task_id = "12.1"},
                                    known_task(),
                                    made_up_task()};
  for (const Context& context : all) {
    std::set<Key> keys;
    const std::vector<std::optional<uid_t>> owners = {std::nullopt, 0, 1000, 1001};
    for (const auto& owner : owners) {
      const Context made = owned(context, owner);
      CHECK(made == owned(context, owner));
      for (const auto& key : {made.run_key, made.task_key})
        if (key) keys.insert(*key);
    }
    const std::size_t of_each = (internal::is_run(context) ? 1 : 0) + (internal::is_task(context) ? 1 : 0);
    CHECK(keys.size() == owners.size() * of_each);
  }
  CHECK(owned(known_task(), 1000) == owned(known_task(), 1000, kOtherHost));
}

TEST_CASE("equal tasks of two users inside one run have different keys") {
  Context alices = known_task();
  internal::set_run_key(alices, kHost);
  Context bobs = alices;
  internal::set_task_key(alices, kHost, 1000);
  internal::set_task_key(bobs, kHost, 1001);
  CHECK(alices.run_key == bobs.run_key);
  CHECK(alices.task_key != bobs.task_key);
}

TEST_CASE("a hundred thousand tasks have as many keys") {
  std::set<Key> keys;
  Context context = known_task();
  for (int i = 0; i < 100'000; ++i) {
    context.task_id = std::to_string(i);
    keys.insert(*with_keys(context, kHost).task_key);
  }
  CHECK(keys.size() == 100'000);
}

TEST_CASE("keys are what they were in recordings of before") {
  const Context task = with_keys(known_task(), kHost);
  CHECK(to_string(*task.run_key) == "4e4e17d50eb55dc0");
  CHECK(to_string(*task.task_key) == "282df57e1d1d0c1d");
  const Context made_up = with_keys(made_up_task(), kHost);
  CHECK(to_string(*made_up.run_key) == "2a4b7ef194b01ef3");
  CHECK(to_string(*made_up.task_key) == "1497a67131a58fc8");
  const Context named{.pipeline = "p", .run = "r1", .step = "s", .sample = "S1"};
  CHECK(to_string(*with_keys(named, kHost).run_key) == "57fe9427762225c8");
  CHECK(to_string(*with_keys(named, kHost).task_key) == "7070f21d2682069a");
}

TEST_CASE("keys that a service makes are as docs/contexts.md says") {
  Context task = known_task();
  internal::set_run_key(task, kHost, 1000);
  CHECK(*task.run_key == Key{internal::sip_hash({}, "4e4e17d50eb55dc0 1000")});
}
