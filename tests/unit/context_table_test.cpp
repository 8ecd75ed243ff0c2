// SPDX-License-Identifier: Apache-2.0
#include "session/context_table.hpp"

#include <string>

#include <doctest/doctest.h>

#include <tracer/error.hpp>

using namespace tracer;
using internal::ContextTable;

namespace {

Context task(const std::string& id) {
  Context context;
  context.task_id = id;
  // They are kept in another order.
  context.labels = {{"z", "1"}, {"a", "2"}};
  return context;
}

}  // namespace

TEST_CASE("a context whose number was given back is not known by the next one's") {
  ContextTable table(10);
  table.give_back(table.number_of(task("X")));
  const std::uint32_t x = table.number_of(task("X"));
  const std::uint32_t y = table.number_of(task("Y"));
  CHECK(x != y);
  CHECK(table.number_of(task("X")) == x);
  CHECK(table.at(x)->task_id == "X");
  CHECK(table.at(y)->task_id == "Y");
}

TEST_CASE("a number stays for whoever else has it") {
  ContextTable table(10);
  const std::uint32_t failing = table.number_of(task("X"));
  CHECK(table.number_of(task("X")) == failing);
  table.give_back(failing);
  CHECK(table.number_of(task("Y")) != failing);
  CHECK(table.at(failing)->task_id == "X");
}

TEST_CASE("numbers that were given back have room again once no newer one is in use") {
  ContextTable table(3);
  const std::uint32_t older = table.number_of(task("A"));
  const std::uint32_t newer = table.number_of(task("B"));
  table.give_back(older);
  CHECK(table.at(newer)->task_id == "B");
  CHECK_THROWS_AS(table.number_of(task("C")), Error);
  table.give_back(newer);
  CHECK(table.at(older) == nullptr);
  CHECK(table.number_of(task("C")) == older);
  CHECK(table.number_of(task("D")) == newer);
  CHECK_THROWS_AS(table.number_of(task("E")), Error);
  table.give_back(table.number_of({}));
  CHECK(table.at(0) != nullptr);
}
