// SPDX-License-Identifier: Apache-2.0
#include "session/context_table.hpp"

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <tracer/error.hpp>

using namespace tracer;
using internal::ContextTable;
using Numbers = std::vector<std::uint32_t>;

namespace {

constexpr std::uint64_t kEnd = 1000;  // A position of the source.

Context task(const std::string& id) {
  Context context;
  context.task_id = id;
  // They are kept in another order.
  context.labels = {{"z", "1"}, {"a", "2"}};
  return context;
}

ContextTable::Clock::time_point later() { return ContextTable::Clock::now() + std::chrono::hours(1); }
ContextTable::Clock::time_point before() { return ContextTable::Clock::now() - std::chrono::hours(1); }

/// As LabelNumbers does when nothing living has the number.
bool forget(ContextTable& table, std::uint32_t number) {
  const std::array all{number};
  table.settled(all, kEnd, kEnd, later());
  const Numbers settled = table.settled(all, kEnd, kEnd, later());
  return settled == Numbers{number} && table.forget(number);
}

}  // namespace

TEST_CASE("equal contexts have one number while anybody uses it") {
  ContextTable table(10);
  const std::uint32_t x = table.number_of(task("X"));
  CHECK(table.number_of(task("X")) == x);
  CHECK(table.number_of(task("Y")) != x);
  table.give_back(x, kEnd);
  CHECK(table.idle(kEnd, later()).empty());
  CHECK(table.at(x)->task_id == "X");
}

TEST_CASE("one user's labels leave room for others, and idle ones of a crowded user are free first") {
  const auto of_user = [](uid_t uid, const std::string& id) {
    Context context = task(id);
    context.owner_uid = uid;
    return context;
  };
  ContextTable table(64);
  std::vector<std::uint32_t> numbers;
  for (std::size_t n = 0; n < 64 / ContextTable::kUsersShare; ++n)
    numbers.push_back(table.number_of(of_user(1000, std::to_string(n))));
  const auto code_of = [&](const Context& context) {
    CHECK_FALSE(table.has_room(context));
    try {
      table.number_of(context);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode{};
  };
  CHECK(code_of(of_user(1000, "more")) == ErrorCode::kServiceRefused);
  CHECK(table.number_of(of_user(1000, "3")) == numbers[3]);
  table.number_of(of_user(1001, "0"));
  CHECK_FALSE(table.is_crowded());
  table.give_back(numbers[0], kEnd);
  CHECK(table.is_crowded());
  CHECK(table.idle(kEnd, later()) == Numbers{numbers[0]});
  REQUIRE(forget(table, numbers[0]));
  table.number_of(of_user(1000, "more"));
  // By bytes, too.
  Context large = of_user(1002, "large");
  large.labels = {{"a", std::string(ContextTable::kMostBytesOfUser, 'x')}};
  CHECK(code_of(large) == ErrorCode::kServiceRefused);
  // All users together leave some for root.
  for (uid_t uid = 2000; table.has_room(of_user(uid, "0")); ++uid) table.number_of(of_user(uid, "0"));
  CHECK_FALSE(table.is_full());
  CHECK_NOTHROW(table.number_of(task("root's")));
}

TEST_CASE("an idle number keeps its meaning until it is forgotten, and is given again then") {
  ContextTable table(3);
  const std::uint32_t a = table.number_of(task("A"));
  const std::uint32_t b = table.number_of(task("B"));
  table.give_back(a, kEnd);
  CHECK(table.at(a)->task_id == "A");
  CHECK_THROWS_AS(table.number_of(task("C")), Error);
  CHECK(table.is_full());
  REQUIRE(forget(table, a));
  CHECK(table.at(a) == nullptr);
  CHECK(table.number_of(task("C")) == a);
  CHECK(table.at(a)->task_id == "C");
  CHECK(table.at(b)->task_id == "B");
  CHECK_THROWS_AS(table.number_of(task("D")), Error);
  table.give_back(table.number_of({}), kEnd);
  CHECK(table.at(0) != nullptr);
}

TEST_CASE("a number that nothing got is free at once") {
  ContextTable table(3);
  const std::uint32_t failing = table.number_of(task("A"));
  table.take_back(failing, kEnd);
  CHECK(table.at(failing) == nullptr);
  CHECK(table.number_of(task("B")) == failing);
  CHECK(table.number_of(task("B")) == failing);
  table.give_back(failing, kEnd);
  table.take_back(failing, kEnd);
  CHECK(table.at(failing)->task_id == "B");
}

TEST_CASE("a number that is used again while it is idle stays") {
  ContextTable table(3);
  const std::uint32_t a = table.number_of(task("A"));
  table.give_back(a, kEnd);
  CHECK(table.number_of(task("A")) == a);
  CHECK_FALSE(table.is_crowded());
  CHECK_FALSE(forget(table, a));
  CHECK(table.at(a)->task_id == "A");
}

TEST_CASE("a number settles only when what was on its way has arrived") {
  ContextTable table(2);
  const std::uint32_t a = table.number_of(task("A"));
  const std::array all{a};
  table.give_back(a, kEnd);
  CHECK(table.idle(kEnd - 1, later()).empty());
  CHECK(table.idle(kEnd, before()).empty());
  CHECK(table.idle(kEnd, later()) == Numbers{a});
  CHECK(table.settled(all, kEnd, kEnd + 5, later()).empty());
  CHECK(table.settled(all, kEnd + 4, kEnd + 9, later()).empty());
  CHECK(table.settled(all, kEnd + 5, kEnd + 9, before()).empty());
  CHECK(table.settled(all, kEnd + 5, kEnd + 9, later()) == Numbers{a});
}

TEST_CASE("the oldest idle numbers are given back, and not more than are needed") {
  ContextTable table(9);
  Numbers numbers;
  for (int i = 1; i < 9; ++i) numbers.push_back(table.number_of(task(std::to_string(i))));
  CHECK_FALSE(table.is_crowded());
  for (const std::size_t at : {2u, 5u, 7u, 0u, 1u, 3u}) table.give_back(numbers[at], kEnd);
  CHECK(table.is_crowded());
  CHECK(table.idle(kEnd, later()) == Numbers{numbers[2], numbers[5], numbers[7], numbers[0], numbers[1]});
}

TEST_CASE("a million labels one after another need no more room than one") {
  ContextTable table(3);
  std::uint32_t largest = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const std::uint32_t number = table.number_of(task(std::to_string(i)));
    largest = std::max(largest, number);
    table.give_back(number, kEnd);
    REQUIRE(forget(table, number));
  }
  CHECK(largest == 1);
  CHECK_FALSE(table.is_crowded());
}
