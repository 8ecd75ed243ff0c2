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
  const auto accounts = std::make_shared<internal::Accounts>(internal::UserIds({{1000, 200'000, 65'536}}));
  ContextTable table(64);
  table.use(accounts);
  std::vector<std::uint32_t> numbers;
  // Half of what root leaves, whichever of its ids says it.
  for (std::size_t n = 0; n < 64 / 8 * 7 / 2; ++n)
    numbers.push_back(table.number_of(of_user(n % 2 == 0 ? 1000 : static_cast<uid_t>(200'000 + n), std::to_string(n))));
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
  CHECK(code_of(of_user(200'100, "more")) == ErrorCode::kServiceRefused);
  CHECK(table.number_of(of_user(1000, "2")) == numbers[2]);
  CHECK(accounts->all().at(1000).bytes != 0);
  CHECK_FALSE(table.is_crowded());
  table.give_back(numbers[0], kEnd);
  CHECK(table.is_crowded());
  CHECK(table.idle(kEnd, later()) == Numbers{numbers[0]});
  REQUIRE(forget(table, numbers[0]));
  table.number_of(of_user(1000, "more"));
  // Each further user finds room, and all together leave some for root.
  for (uid_t uid = 2000; uid < 2003; ++uid) CHECK_NOTHROW(table.number_of(of_user(uid, "0")));
  for (uid_t uid = 2000; uid < 2100 && table.has_room(of_user(uid, "1")); ++uid) table.number_of(of_user(uid, "1"));
  CHECK_FALSE(table.is_full());
  CHECK_NOTHROW(table.number_of(task("root's")));
}

TEST_CASE("texts of labels are bounded, marked and counted, never refused") {
  const auto accounts = std::make_shared<internal::Accounts>();
  ContextTable table(10);
  table.use(accounts);
  Context context = task("X");
  context.owner_uid = 1000;
  context.labels = {};
  for (int n = 0; n < 64; ++n)
    context.labels.push_back({"label-" + std::to_string(100 + n), "v" + std::string(999, 'x')});
  context.run = std::string(1000, 'r') + std::string(100'000, 'y');
  const auto kept = table.at(table.number_of(context));
  std::size_t bytes = 0;
  for (const Label& label : kept->labels) bytes += label.name.size() + label.value.size();
  CHECK(bytes <= 4096);
  CHECK(bytes > 4000);
  CHECK(kept->labels.front() == context.labels.front());
  CHECK(kept->labels.back().value.ends_with("…"));
  CHECK(kept->labels_cut_bytes.value_or(0) > 55'000);
  CHECK(kept->run->size() <= 1024);
  CHECK(kept->run->ends_with("…"));
  CHECK(accounts->all().at(1000).lost.at("labels_cut") == 1);
  // At a character.
  Context wide = task("Y");
  wide.sample = std::string(1021 - 1, 'a') + "ä" + std::string(100, 'b');
  CHECK(*table.at(table.number_of(wide))->sample == std::string(1020, 'a') + "…");
  CHECK_FALSE(table.at(table.number_of(wide))->labels_cut_bytes);
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
