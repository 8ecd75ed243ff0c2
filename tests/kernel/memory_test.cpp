// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "capture.hpp"
#include "truth.hpp"

namespace {

constexpr std::uint64_t kMiB = 1u << 20;

/// What a program has besides the N MiB that it touches: Rss of /proc/self/smaps_rollup, as it reads it itself.
std::uint64_t base_bytes() { return trace(truth::call("resident", {})).reported(); }

bool close_to(std::uint64_t seen, std::uint64_t truth) {
  const double error = std::abs(static_cast<double>(seen) - static_cast<double>(truth));
  return error <= 256.0 * 1024 || error <= 0.05 * static_cast<double>(truth);
}

}  // namespace

TEST_CASE("peak memory is what was touched, also when it was given back before the end" *
          doctest::test_suite("waits")) {
  std::vector<std::vector<std::string>> calls = {truth::call("resident", {})};
  for (const char* mib : {"40", "64", "200"}) {
    calls.push_back(truth::call("touch", {mib}));
    calls.push_back(truth::call("touch", {mib, "unmap"}));
  }
  const std::vector<Capture> captures = trace_each(calls);
  const std::uint64_t base = captures[0].reported();
  CAPTURE(base);
  constexpr std::uint64_t kTouched[] = {40, 40, 64, 64, 200, 200};
  for (std::size_t i = 0; i < std::size(kTouched); ++i) {
    CAPTURE(kTouched[i]);
    const auto account = captures[i + 1].exit().account;
    REQUIRE(account.peak_rss_bytes.has_value());
    CAPTURE(*account.peak_rss_bytes);
    CHECK(close_to(*account.peak_rss_bytes, kTouched[i] * kMiB + base));
  }
}

TEST_CASE("a small program spawned by a large one has its own small peak, or an honest bound" *
          doctest::test_suite("waits")) {
  const Capture capture = trace(truth::call("spawn_from_large", {"300"}));
  const auto others = capture.other_exits();
  REQUIRE(others.size() == 1);
  const auto& account = others[0].account;
  CHECK(capture.exit().account.peak_rss_bytes.value_or(0) >= 300 * kMiB);
  if (kernel_at_least(6, 16)) {
    REQUIRE(account.peak_rss_bytes.has_value());
    CHECK(*account.peak_rss_bytes < 8 * kMiB);
  } else {
    CHECK(!account.peak_rss_bytes.has_value());
    CHECK(account.peak_rss_at_most_bytes.value_or(0) >= 300 * kMiB);
  }
}

TEST_CASE("the programs of an exec chain have peaks of their own" * doctest::test_suite("waits")) {
  const Capture capture = trace(truth::call("chain", {"0", "60", "0", "20", "0", "100"}));
  const auto execs = capture.all<tracer::ProcessExec>();
  REQUIRE(execs.size() == 3);
  const std::uint64_t base = base_bytes();
  const auto first = execs[1].ended.account;
  const auto second = execs[2].ended.account;
  REQUIRE(first.peak_rss_bytes.has_value());
  CHECK(close_to(*first.peak_rss_bytes, 60 * kMiB + base));
  if (kernel_at_least(6, 10)) {
    REQUIRE(second.peak_rss_bytes.has_value());
    CHECK(close_to(*second.peak_rss_bytes, 20 * kMiB + base));
  } else {
    CHECK(!second.peak_rss_bytes.has_value());
    CHECK(second.peak_rss_at_most_bytes.value_or(0) >= 60 * kMiB);
  }
  const auto last = capture.exit().account;
  REQUIRE(last.peak_rss_bytes.has_value());
  CHECK(close_to(*last.peak_rss_bytes, 100 * kMiB + base));
}

TEST_CASE("a child that borrows its parent's memory has no peak of its own" * doctest::test_suite("waits")) {
  const Capture capture = trace(truth::call("vfork_without_exec", {"50"}));
  const auto others = capture.other_exits();
  REQUIRE(others.size() == 1);
  CHECK(others[0].exit_code == 5);
  CHECK(!others[0].account.peak_rss_bytes.has_value());
}
