// SPDX-License-Identifier: Apache-2.0
#include "session/budget.hpp"

#include <optional>

#include <doctest/doctest.h>

using tracer::Family;
using tracer::internal::Budget;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// After `seconds` in each of which so many milliseconds were spent.
Budget::Spent spent(std::uint64_t seconds, std::uint64_t cpu_ms, std::optional<std::uint64_t> snapshots_ms,
                    std::optional<std::uint64_t> waits_ms) {
  constexpr std::uint64_t kMs = 1'000'000;
  Budget::Spent sum;
  sum.wall_ns = seconds * kSecond;
  sum.reader_ns = seconds * cpu_ms * kMs;
  sum.families[Family::kLifecycle];
  if (snapshots_ms) sum.families[Family::kSnapshots].reader_ns = seconds * *snapshots_ms * kMs;
  if (waits_ms) sum.families[Family::kWaits].kernel_ns = seconds * *waits_ms * kMs;
  return sum;
}

Budget::Spent seconds_of(std::uint64_t wall, std::uint64_t cpu) {
  Budget::Spent sum = spent(0, 0, 0, 0);
  sum.wall_ns = wall * kSecond;
  sum.reader_ns = cpu * kSecond;
  return sum;
}

}  // namespace

TEST_CASE("without a limit nothing is shed") {
  Budget budget({});
  for (std::uint64_t second = 1; second < 20; ++second)
    CHECK_FALSE(budget.check(spent(second, 900, 800, 100)).has_value());
  CHECK(budget.share() == doctest::Approx(1.0));
}

TEST_CASE("after three seconds over the limit the dearest family is shed") {
  Budget budget(0.1);
  CHECK_FALSE(budget.check(spent(1, 200, 150, 50)).has_value());
  CHECK_FALSE(budget.check(spent(2, 200, 150, 50)).has_value());
  CHECK(budget.check(spent(3, 200, 150, 50)) == Family::kSnapshots);
  CHECK(budget.share() == doctest::Approx(0.25));
  Budget other(0.1);
  for (std::uint64_t second = 1; second < 3; ++second) other.check(spent(second, 60, 10, 90));
  CHECK(other.check(spent(3, 60, 10, 90)) == Family::kWaits);
}

TEST_CASE("a second within the limit begins the count again") {
  Budget budget(0.5);
  CHECK_FALSE(budget.check(seconds_of(1, 1)).has_value());
  CHECK_FALSE(budget.check(seconds_of(2, 2)).has_value());
  CHECK_FALSE(budget.check(seconds_of(3, 2)).has_value());
  CHECK_FALSE(budget.check(seconds_of(4, 3)).has_value());
}

TEST_CASE("without the kernel's own figures snapshots go first, then waits, then nothing is left to shed") {
  Budget budget(0.1);
  std::uint64_t second = 0;
  const auto third = [&](std::optional<std::uint64_t> waits, std::optional<std::uint64_t> snapshots) {
    std::optional<Family> family;
    for (int i = 0; i < 3; ++i) family = budget.check(spent(++second, 200, snapshots, waits));
    return family;
  };
  CHECK(third(0, 0) == Family::kSnapshots);
  CHECK(third(0, {}) == Family::kWaits);
  CHECK_FALSE(third({}, {}).has_value());
}

TEST_CASE("the lifecycle counts, and is never shed") {
  Budget budget(0.1);
  std::optional<Family> family;
  for (std::uint64_t second = 1; second <= 3; ++second) {
    Budget::Spent sum = spent(second, 10, {}, 20);
    sum.families[Family::kLifecycle].kernel_ns = second * kSecond / 2;
    family = budget.check(sum);
  }
  CHECK(budget.share() == doctest::Approx(0.53));
  CHECK(family == Family::kWaits);
}
