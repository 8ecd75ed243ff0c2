// SPDX-License-Identifier: Apache-2.0
/// Two sides compared: the whole and why, what failed, and what is left out.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>

#include <doctest/doctest.h>

#include "report/compare.hpp"
#include "show/compare_text.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// A run of ALIGN tasks, each of which computes for 10 s and waits for a CPU for the rest.
class Trace {
 public:
  void task(std::uint64_t wall_s, std::int32_t exit_code = 0, const char* step = "ALIGN") {
    TaskFinish finish;
    Context context{.step = step};
    context.task_key = static_cast<Key>(++tasks_);
    finish.context = std::make_shared<const Context>(context);
    finish.begin_ns = kSecond;
    finish.time_ns = finish.end_ns = (1 + wall_s) * kSecond;
    finish.exit_code = exit_code;
    finish.totals.failed = exit_code == 0 ? 0 : 1;
    TaskLedger ledger;
    ledger.wall_ns = wall_s * kSecond;
    ledger.computing_ns = ledger.computing_at_most_ns = std::min<std::uint64_t>(wall_s, 10) * kSecond;
    ledger.queued_ns = ledger.wall_ns - ledger.computing_ns;
    finish.task_ledger = ledger;
    trace_.add(Event(finish));
  }
  ComparedSide side(std::uint64_t wall_s, std::int32_t exit_code = 0) {
    RunFinish run;
    run.begin_ns = kSecond;
    run.end_ns = (1 + wall_s) * kSecond;
    run.exit_code = exit_code;
    run.totals.failed = exit_code == 0 ? 0 : 1;
    trace_.add(Event(run));
    ComparedSide side = trace_.side();
    side.wall_ns = static_cast<double>(wall_s * kSecond);
    return side;
  }

 private:
  ComparedTrace trace_;
  std::uint64_t tasks_ = 0;
};

std::string first_lines(const Comparison& compared) {
  const std::string text = compare_text(compared);
  return text.substr(0, text.find("\n\n"));
}

}  // namespace

TEST_CASE("a comparison begins with the whole, and why it changed") {
  Trace a;
  Trace b;
  for (const std::uint64_t more : {0, 1, 2}) a.task(26 + more), b.task(12 + more);
  a.task(1, 0, "QC"), b.task(4, 0, "QC");
  const Comparison compared = compare(a.side(54), b.side(24));
  CHECK(first_lines(compared) ==
        "B took 24.0 s instead of 54.0 s (-56 %); ALIGN 14.0 s less each, most of it less waiting for a CPU; QC 3.0 s "
        "more, most of it more computing");
  REQUIRE(compared.steps.size() == 2);
  CHECK(compared.steps[0].cause == TimeCause::kRunQueue);
  CHECK(compared.steps[0].cause_ns == doctest::Approx(-14e9));
}

TEST_CASE("what failed is said, counted, and not compared") {
  Trace a;
  Trace b;
  for (int i = 0; i < 4; ++i) a.task(20), b.task(2, 1);
  for (int i = 0; i < 3; ++i) a.task(10, 0, "SORT"), b.task(10, 0, "SORT");
  b.task(1, 1, "SORT");
  const Comparison compared = compare(a.side(60), b.side(20, 1));
  CHECK(first_lines(compared) == "B took 20.0 s (failed) instead of 60.0 s\n5 of 8 tasks failed in B: ALIGN, SORT");
  const RowChange& align = compared.steps[0];
  CHECK(align.failed_b == 4);
  CHECK(align.n_b == 4);
  CHECK(align.of(Measure::kWall).verdict == ChangeVerdict::kNotKnown);
  CHECK_FALSE(align.of(Measure::kWall).change.has_value());
  // A retry that succeeds is as good as a task that needed none.
  const RowChange& sort = compared.steps[1];
  CHECK_FALSE(sort.of(Measure::kWall).of_sums);
  CHECK(sort.of(Measure::kWall).verdict == ChangeVerdict::kSame);
  const std::string json = compare_json(compared);
  CHECK(json.starts_with(R"({"a":{"wall_ns":60000000000,"outcome":"succeeded","tasks":7,"failed_tasks":0},)"
                         R"("b":{"wall_ns":20000000000,"outcome":"failed","tasks":8,"failed_tasks":5},)"));
  CHECK(json.find(R"({"name":"ALIGN","n_a":4,"n_b":4,"failed_a":0,"failed_b":4,)") != std::string::npos);
}

TEST_CASE("processes of a tool that failed make no tool faster") {
  ComparedSide a{.wall_ns = 10};
  ComparedSide b{.wall_ns = 4};
  a.tools["perl"].values[0] = {3, 3, 3};
  b.tools["perl"].values[0] = {1, 1, 1};
  a.tools["perl"].ended = b.tools["perl"].ended = 3;
  CHECK(compare(a, b).tools[0].of(Measure::kWall).verdict == ChangeVerdict::kLess);
  b.tools["perl"].failed = 2;
  const Comparison compared = compare(a, b);
  CHECK(compared.tools[0].of(Measure::kWall).verdict == ChangeVerdict::kNotKnown);
  CHECK(compare_text(compared).find("2 of 3 failed in B") != std::string::npos);
  // As it did before.
  a.tools["perl"].failed = 2;
  CHECK(compare(a, b).tools[0].of(Measure::kWall).verdict == ChangeVerdict::kLess);
}

TEST_CASE("where numbers differ, sums are compared, but not of memory") {
  Trace a;
  Trace b;
  a.task(100), b.task(50), b.task(51), b.task(52);
  const Comparison compared = compare(a.side(100), b.side(60));
  const MeasureChange& wall = compared.steps[0].of(Measure::kWall);
  CHECK(wall.of_sums);
  CHECK(wall.change == doctest::Approx(0.53));
  CHECK(wall.verdict == ChangeVerdict::kMore);
  CHECK(wall.may_be_noise);
  CHECK_FALSE(compared.steps[0].of(Measure::kPeak).of_sums);
  CHECK(first_lines(compared).ends_with("; ALIGN 53.0 s more in all, most of it more waiting for a CPU"));
}

TEST_CASE("what is below 1 % of both is left out, and more than ten times is a factor") {
  ComparedSide a{.wall_ns = 1000};
  ComparedSide b{.wall_ns = 1000};
  for (const auto& [name, of_a, of_b] :
       {std::tuple("small", 1, 9), std::tuple("grew", 1, 300), std::tuple("gone", 500, 1)}) {
    a.tools[name].values[0] = {static_cast<double>(of_a)};
    b.tools[name].values[0] = {static_cast<double>(of_b)};
    a.tools[name].ended = b.tools[name].ended = 1;
  }
  CHECK(compare(a, b).tools.size() == 2);
  const std::string text = compare_text(compare(a, b));
  CHECK(text.find("x 300") != std::string::npos);
  CHECK(text.find("-100 %") != std::string::npos);
  b.tools["small"].failed = 1;
  CHECK(compare(a, b).tools.size() == 3);
}
