// SPDX-License-Identifier: Apache-2.0
/// What tasks requested and did not use.
#include <string>

#include <doctest/doctest.h>

#include "report/waste.hpp"
#include "show/report_text.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr std::uint64_t kHour = 3'600'000'000'000;
constexpr std::uint64_t kGiB = 1u << 30;

ReportNode task(std::uint64_t wall_ns, std::uint64_t cpu_ns, std::uint64_t peak_bytes) {
  ReportNode node;
  node.level = SummaryLevel::kTask;
  node.row.name = "ALIGN";
  node.row.wall_ns = wall_ns;
  node.row.cpu_ns = Figure{cpu_ns};
  node.row.memory_bytes = Figure{peak_bytes};
  node.row.requested.millicpus = 4000;
  node.row.requested.memory_bytes = 16 * kGiB;
  return node;
}

Report report_of(std::vector<ReportNode> tasks) {
  ReportNode run;
  run.level = SummaryLevel::kRun;
  run.below = std::move(tasks);
  Report report;
  report.tree.push_back(std::move(run));
  return report;
}

}  // namespace

TEST_CASE("waste is what each task requested and did not use, for as long as it ran") {
  const auto report = report_of({task(2 * kHour, 2 * kHour, 4 * kGiB), task(kHour, 6 * kHour, 32 * kGiB)});
  const Waste waste = waste_of(report);
  CHECK(waste.cpu_hours.tasks == 2);
  CHECK(waste.cpu_hours.requested() == doctest::Approx(12));
  CHECK(waste.cpu_hours.unused() == doctest::Approx(6));
  CHECK(waste.memory_gib_hours.requested() == doctest::Approx(48));
  CHECK(waste.memory_gib_hours.unused() == doctest::Approx(24));
  CHECK(
      format_notes(report, std::nullopt).waste ==
      "\nwaste: 2 tasks requested, and did not use, 6.0 of 12.0 CPU hours (50 %) and 24.0 of 48.0 GiB hours of memory "
      "(50 %)\n");
  CHECK(to_json(report).find(
            R"("waste":{"cpu_tasks":2,"requested_cpu_hours":12,"unused_cpu_hours":6,"memory_tasks":2)") !=
        std::string::npos);
}

TEST_CASE("waste of less than a tenth of an hour is said in minutes") {
  CHECK(format_notes(report_of({task(kHour / 60, kHour / 30, 4 * kGiB)}), std::nullopt).waste ==
        "\nwaste: 1 task requested, and did not use, 2.0 of 4.0 CPU minutes (50 %) and 0.200 of 0.267 GiB hours of "
        "memory "
        "(75 %)\n");
}

TEST_CASE("a task that lives, or whose use is not known, is not in the waste") {
  ReportNode living = task(kHour, kHour, kGiB);
  living.row.living = 1;
  ReportNode bound = task(kHour, kHour, kGiB);
  bound.row.cpu_ns->bound = Bound::kAtLeast;
  bound.row.memory_bytes->bound = Bound::kAtLeast;
  ReportNode unrequested = task(kHour, kHour, kGiB);
  unrequested.row.requested = {};
  const auto report = report_of({living, bound, unrequested});
  CHECK(waste_of(report).cpu_hours.tasks == 0);
  CHECK(waste_of(report).memory_gib_hours.tasks == 0);
  CHECK(format_notes(report, std::nullopt).waste.empty());
  CHECK(to_json(report).find("\"waste\"") == std::string::npos);
}

TEST_CASE("of a peak that is known by bounds only, the upper one counts") {
  ReportNode bound = task(kHour, kHour, 2 * kGiB);
  bound.row.memory_bytes->bound = Bound::kAtLeast;
  bound.row.memory_at_most_bytes = 8 * kGiB;
  CHECK(waste_of(report_of({bound})).memory_gib_hours.unused() == doctest::Approx(8));
}
