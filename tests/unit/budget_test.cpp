// SPDX-License-Identifier: Apache-2.0
#include "session/budget.hpp"

#include <doctest/doctest.h>

using tracer::Family;
using tracer::internal::Budget;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// After `seconds` in each of which so many milliseconds were spent.
Budget::Spent spent(std::uint64_t seconds, std::uint64_t cpu_ms, std::uint64_t snapshots_ms, std::uint64_t waits_ms) {
  Budget::Spent sum;
  sum.wall_ns = seconds * kSecond;
  sum.cpu_ns = seconds * cpu_ms * 1'000'000;
  sum.snapshots_cpu_ns = seconds * snapshots_ms * 1'000'000;
  if (waits_ms != 0) sum.kernel_ns[Family::kWaits] = seconds * waits_ms * 1'000'000;
  return sum;
}

Budget::Spent wall_and_cpu(std::uint64_t wall_s, std::uint64_t cpu_s) {
  Budget::Spent sum;
  sum.wall_ns = wall_s * kSecond;
  sum.cpu_ns = cpu_s * kSecond;
  return sum;
}

}  // namespace

TEST_CASE("without a limit nothing is shed") {
  Budget budget({});
  for (std::uint64_t second = 1; second < 20; ++second)
    CHECK_FALSE(budget.check(spent(second, 900, 800, 100), true, true).has_value());
  CHECK(budget.share() == doctest::Approx(1.0));
}

TEST_CASE("after three seconds over the limit the dearest family is shed") {
  Budget budget(0.1);
  CHECK_FALSE(budget.check(spent(1, 200, 150, 50), true, true).has_value());
  CHECK_FALSE(budget.check(spent(2, 200, 150, 50), true, true).has_value());
  CHECK(budget.check(spent(3, 200, 150, 50), true, true) == Family::kSnapshots);
  CHECK(budget.share() == doctest::Approx(0.25));
  Budget other(0.1);
  for (std::uint64_t second = 1; second < 3; ++second) other.check(spent(second, 60, 10, 90), true, true);
  CHECK(other.check(spent(3, 60, 10, 90), true, true) == Family::kWaits);
}

TEST_CASE("a second within the limit begins the count again") {
  Budget budget(0.5);
  CHECK_FALSE(budget.check(wall_and_cpu(1, 1), true, true).has_value());
  CHECK_FALSE(budget.check(wall_and_cpu(2, 2), true, true).has_value());
  CHECK_FALSE(budget.check(wall_and_cpu(3, 2), true, true).has_value());
  CHECK_FALSE(budget.check(wall_and_cpu(4, 3), true, true).has_value());
}

TEST_CASE("without the kernel's own figures snapshots go first, then waits, then nothing is left to shed") {
  Budget budget(0.1);
  std::uint64_t second = 0;
  const auto third = [&](bool waits, bool snapshots) {
    std::optional<Family> family;
    for (int i = 0; i < 3; ++i) family = budget.check(spent(++second, 200, 1, 0), waits, snapshots);
    return family;
  };
  CHECK(third(true, true) == Family::kSnapshots);
  CHECK(third(true, false) == Family::kWaits);
  CHECK_FALSE(third(false, false).has_value());
}
