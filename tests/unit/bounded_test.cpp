// SPDX-License-Identifier: Apache-2.0
#include "base/bounded.hpp"

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace tracer::internal {
namespace {

constexpr uid_t kModest = 1000;
constexpr uid_t kGreedy = 1001;
constexpr std::size_t kText = 10'000;

struct Table {
  std::shared_ptr<Accounts> accounts = std::make_shared<Accounts>(UserIds({{kGreedy, 200'000, 65'536}}));
  std::vector<int> lost = {};
  Bounded<int, std::string> rows{10 * kText, "rows_full", accounts,
                                 [this](int key, const std::string&) { lost.push_back(key); }};
};

TEST_CASE("who holds most of a bounded table loses the oldest row, and the loss is counted") {
  Table table;
  CHECK(table.rows.put(1, kModest, kText, "first") != nullptr);
  for (int key = 100; key < 200; ++key) CHECK(table.rows.put(key, kGreedy, kText, "more") != nullptr);
  CHECK(table.rows.put(2, kModest, kText, "second") != nullptr);
  REQUIRE(table.rows.find(1) != nullptr);
  CHECK(*table.rows.find(1) == "first");
  CHECK(table.rows.find(100) == nullptr);
  CHECK(table.rows.contains(199));
  CHECK(table.lost.front() == 100);
  CHECK(table.rows.bytes() <= 10 * kText);
  const auto accounts = table.accounts->all();
  CHECK(accounts.at(kModest).lost.empty());
  CHECK(accounts.at(kGreedy).lost.at("rows_full") == table.lost.size());
  CHECK(accounts.at(kGreedy).bytes + accounts.at(kModest).bytes == table.rows.bytes());
  std::map<std::string, std::uint64_t> losses;
  table.accounts->count_losses(losses);
  CHECK(losses == std::map<std::string, std::uint64_t>{{"rows_full", table.lost.size()}});
}

TEST_CASE("subordinate ids are one holder with their user") {
  Table table;
  CHECK(table.rows.put(1, kModest, 4 * kText, "") != nullptr);
  for (int key = 100; key < 120; ++key)
    CHECK(table.rows.put(key, static_cast<uid_t>(200'000 + key), kText, "") != nullptr);
  CHECK(table.rows.contains(1));
  CHECK(table.accounts->all().size() == 2);
}

TEST_CASE("a row that grows is charged for it, and never lost by it") {
  Table table;
  CHECK(table.rows.put(1, kModest, 0, "") != nullptr);
  CHECK(table.rows.put(2, kModest, kText, "") != nullptr);
  CHECK(table.rows.charge(1, 9 * kText));
  CHECK(table.rows.contains(1));
  CHECK_FALSE(table.rows.contains(2));
  CHECK_FALSE(table.rows.charge(1, 20 * kText));
  CHECK(table.rows.contains(1));
  CHECK(table.rows.charge(1, 0));
  CHECK(table.rows.put(3, kModest, 20 * kText, "") == nullptr);
  CHECK(table.accounts->all().at(kModest).lost.at("rows_full") == 2);
}

TEST_CASE("what is gone is charged no more") {
  Table table;
  for (int key = 0; key < 5; ++key) table.rows.put(key, kModest, kText, "");
  table.rows.erase(0);
  table.rows.erase_if([](int key, const std::string&) { return key == 1; });
  table.rows.put(2, kModest, kText, "instead");
  CHECK(table.rows.size() == 3);
  CHECK(table.accounts->all().at(kModest).bytes == table.rows.bytes());
  table.rows.clear();
  CHECK(table.accounts->all().empty());
}

}  // namespace
}  // namespace tracer::internal
