// SPDX-License-Identifier: Apache-2.0
#include "state/held_at_once.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <doctest/doctest.h>

using tracer::internal::HeldAtOnce;

namespace {

struct Life {
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
  std::uint64_t bytes;
};

std::uint64_t most_of(const std::vector<Life>& lives) {
  HeldAtOnce held;
  for (const Life& life : lives) held.add(life.begin_ns, life.end_ns, life.bytes);
  return held.most_bytes();
}

/// At each begin all that live then.
std::uint64_t truth_of(const std::vector<Life>& lives) {
  std::uint64_t most = 0;
  for (const Life& at : lives) {
    std::uint64_t sum = 0;
    for (const Life& life : lives)
      if (life.begin_ns <= at.begin_ns && at.begin_ns < life.end_ns) sum += life.bytes;
    most = std::max(most, sum);
  }
  return most;
}

std::vector<Life> random_lives(std::size_t count, std::uint64_t longest) {
  std::mt19937_64 random(7);
  std::vector<Life> lives;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t begin = random() % 100'000;
    lives.push_back({begin, begin + 1 + random() % longest, 1 + random() % 1000});
  }
  return lives;
}

}  // namespace

TEST_CASE("nobody holds nothing at once") { CHECK(HeldAtOnce().most_bytes() == 0); }

TEST_CASE("those that live at once add up, in any order; those that come one after the other don't") {
  CHECK(most_of({{10, 20, 100}}) == 100);
  CHECK(most_of({{10, 20, 100}, {15, 30, 50}}) == 150);
  CHECK(most_of({{15, 30, 50}, {10, 20, 100}}) == 150);
  CHECK(most_of({{10, 20, 100}, {21, 30, 50}}) == 100);
  CHECK(most_of({{10, 100, 1}, {20, 30, 5}, {40, 50, 7}, {45, 60, 9}}) == 17);
}

TEST_CASE("a program that executes the next gives its memory back first") {
  CHECK(most_of({{10, 20, 100}, {20, 30, 80}}) == 100);
}

TEST_CASE("who lived for no time that can be told held something") {
  CHECK(most_of({{10, 10, 100}, {10, 30, 5}}) == 105);
}

TEST_CASE("it is exact as long as there is room, in any order") {
  const auto lives = random_lives(200, 20'000);
  CHECK(most_of(lives) == truth_of(lives));
}

TEST_CASE("beyond that it is an upper bound, and not a wild one for many that come one after the other") {
  const auto lives = random_lives(5000, 50);
  CHECK(most_of(lives) >= truth_of(lives));
  std::vector<Life> in_turn;
  for (std::uint64_t i = 0; i < 100'000; ++i) in_turn.push_back({10 * i, 10 * i + 9, 100});
  in_turn.push_back({0, 1'000'000, 7});
  CHECK(most_of(in_turn) == 107);
}

TEST_CASE("what others held is put beside it") {
  HeldAtOnce held;
  held.add(10, 20, 100);
  HeldAtOnce others;
  others.add(15, 18, 30);
  others.add(50, 60, 120);
  held.add(others);
  CHECK(held.most_bytes() == 130);
}
