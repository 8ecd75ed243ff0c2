// SPDX-License-Identifier: Apache-2.0
/// Runs and tasks keep their numbers when they get other keys.
#include <doctest/doctest.h>

#include <memory>
#include <utility>
#include <vector>

#include "insight/works.hpp"
#include "state/book.hpp"

namespace {

using namespace tracer;
using internal::Book;
using internal::ScopeId;

Context in_run(std::uint64_t run) {
  Context context;
  context.run_key = Key{run};
  context.owner_uid = 1000;
  return context;
}

Context in_task(std::uint64_t run, std::uint64_t task) {
  Context context = in_run(run);
  context.task_key = Key{task};
  return context;
}

ContextChange renamed(const Context& before, const Context& after) {
  ContextChange change;
  change.before = std::make_shared<const Context>(before);
  change.after = std::make_shared<const Context>(after);
  if (before.run_key != after.run_key) change.old_run_key = before.run_key;
  if (before.task_key != after.task_key) change.old_task_key = before.task_key;
  return change;
}

TaskStart began(const Context& context) {
  TaskStart start;
  start.context = std::make_shared<const Context>(context);
  start.pid = 7;
  return start;
}

}  // namespace

TEST_CASE("a run and a task keep their ids when they get other keys") {
  Book book;
  const ScopeId run = book.make(in_run(1), true)->id;
  const ScopeId task = book.make(in_task(1, 2))->id;
  CHECK(book.id_of(in_task(1, 2)) == task);
  book.saw(renamed(in_task(1, 2), in_task(10, 20)));
  CHECK(book.id_of(in_task(10, 20), false) == task);
  CHECK(book.id_of(in_task(10, 20), true) == run);
  CHECK(book.id_of(in_task(1, 2), false) == ScopeId::kNone);
  CHECK(book.find(task)->key == 20);
}

TEST_CASE("of two that turn out to be one, the one that has the key stays, and what was kept of the other is its own") {
  Book book;
  internal::FindingBook findings(internal::FindingRules::builtin(), book, 1);
  internal::Works<int> works(findings);
  std::vector<std::pair<ScopeId, ScopeId>> gone;
  book.when_gone([&](ScopeId id, ScopeId into) { gone.emplace_back(id, into); });
  const ScopeId from = book.make(in_task(1, 2))->id;
  const ScopeId into = book.make(in_task(1, 3))->id;
  *works.make(from, 1000) = 5;
  book.saw(renamed(in_task(1, 2), in_task(1, 3)));
  CHECK(gone == std::vector{std::pair(from, into)});
  CHECK(book.id_of(in_task(1, 3)) == into);
  CHECK(book.find(from) == nullptr);
  REQUIRE(works.find(into) != nullptr);
  CHECK(*works.find(into) == 5);
}

TEST_CASE("a task that is over may be joined, until others that are over have taken its room") {
  constexpr std::size_t kOfOne = 16u << 10;
  Book book(std::make_shared<internal::Accounts>(), {}, kOfOne);
  CHECK(book.saw(began(in_task(1, 2))));
  CHECK_FALSE(book.saw(began(in_task(1, 2))));
  const ScopeId first = book.id_of(in_task(1, 2));
  book.finished(in_task(1, 2), false);
  CHECK(book.find(first)->finished);
  CHECK(book.saw(began(in_task(1, 2))));
  CHECK(book.id_of(in_task(1, 2)) == first);
  CHECK_FALSE(book.find(first)->finished);
  book.finished(in_task(1, 2), false);
  for (std::uint64_t task = 3; task < 30; ++task) {
    book.saw(began(in_task(1, task)));
    book.finished(in_task(1, task), false);
  }
  CHECK(book.find(first) == nullptr);
  CHECK(book.id_of(in_task(1, 29)) != ScopeId::kNone);
}

TEST_CASE("what is within a task of the same owner is around, the innermost first") {
  Book book;
  Context outer = in_task(1, 2);
  outer.run_id = "r1";
  outer.task_id = "t7";
  book.around(outer);
  Context inner = in_task(5, 6);
  inner.within = "r1/t7";
  std::vector<std::uint64_t> keys;
  for (const auto& scope : book.around(inner)) keys.push_back(scope->key);
  CHECK(keys == std::vector<std::uint64_t>{6, 5, 2, 1});
  Context of_another = in_task(8, 9);
  of_another.within = "r1/t7";
  of_another.owner_uid = 1001;
  CHECK(book.around(of_another).size() == 2);
}
