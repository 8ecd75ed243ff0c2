// SPDX-License-Identifier: Apache-2.0
/// What tasks requested beside what they used.
#include "report/requested_use.hpp"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "report/report_sums.hpp"
#include "show/report_text.hpp"

using namespace tracer;
using namespace tracer::internal;

namespace {

constexpr std::uint64_t kHour = 3'600'000'000'000;
constexpr std::uint64_t kGiB = 1u << 30;

ReportNode task(std::uint64_t hours, std::uint64_t cpu_hours, std::uint64_t peak_gib) {
  ReportNode node;
  node.level = SummaryLevel::kTask;
  node.row.wall_ns = hours * kHour;
  node.row.cpu_ns = Figure{cpu_hours * kHour};
  node.row.memory_bytes = Figure{peak_gib * kGiB};
  node.row.requested.millicpus = 4000;
  node.row.requested.memory_bytes = 8 * kGiB;
  return node;
}

Report report_of(std::vector<ReportNode> tasks) {
  ReportNode step;
  step.level = SummaryLevel::kStep;
  step.row.name = "align";
  step.below = std::move(tasks);
  ReportNode run;
  run.level = SummaryLevel::kRun;
  run.row.name = "main.nf";
  run.below.push_back(std::move(step));
  Report report;
  report.tree.push_back(std::move(run));
  count_tasks(report);
  set_requested_use(report.tree);
  return report;
}

std::string text_of(std::vector<ReportNode> tasks) {
  return format_notes(report_of(std::move(tasks)), std::nullopt).requested;
}

}  // namespace

TEST_CASE("CPUs used are CPU time by wall time, memory that of the task that came nearest to its request") {
  ReportNode large = task(1, 2, 6);
  large.row.requested = {.millicpus = 8000, .memory_bytes = 16 * kGiB};
  const Report report = report_of({task(2, 2, 4), task(1, 3, 5), large});
  const RequestedUse use = report.tree[0].below[0].row.requested_use.value();
  CHECK(use.millicpus->tasks == 3);
  CHECK(use.millicpus->requested == 5000);
  CHECK(use.millicpus->used == Figure{1750});
  CHECK(use.memory_bytes->tasks == 3);
  CHECK(use.memory_bytes->requested == 8 * kGiB);
  CHECK(use.memory_bytes->used == Figure{5 * kGiB});
  CHECK(report.tree[0].row.requested_use->millicpus->used == Figure{1750});
  CHECK(format_notes(report, std::nullopt).requested ==
        "\nmain.nf: requested 5 CPUs, used 1.75; 8.0 GiB, used at most 5.0 GiB\n"
        "  align: requested 5 CPUs, used 1.75; 8.0 GiB, used at most 5.0 GiB\n");
  const auto step = nlohmann::json::parse(to_json(report))["steps"][0]["requested_use"];
  CHECK(step == nlohmann::json{{"cpu_tasks", 3},
                               {"requested_millicpus", 5000},
                               {"used_millicpus", 1750},
                               {"memory_tasks", 3},
                               {"requested_memory_bytes", 8 * kGiB},
                               {"used_memory_bytes", 5 * kGiB}});
}

TEST_CASE("only tasks that ended, and of which both are known, count; bounds stay bounds") {
  ReportNode unknown = task(1, 1, 7);
  unknown.row.requested = {};
  ReportNode living = task(1, 1, 8);
  living.row.living = 1;
  ReportNode bounded = task(1, 1, 3);
  bounded.row.cpu_ns->bound = bounded.row.memory_bytes->bound = Bound::kAtLeast;
  bounded.row.memory_at_most_bytes = 4 * kGiB;
  CHECK(text_of({unknown, living, bounded}) ==
        "\nmain.nf: requested 4 CPUs, used ≥ 1 (1 of 3 tasks); 8.0 GiB, used ≥ 3.0 GiB ≤ 4.0 GiB (1 of 3 tasks)\n"
        "  align: requested 4 CPUs, used ≥ 1 (1 of 3 tasks); 8.0 GiB, used ≥ 3.0 GiB ≤ 4.0 GiB (1 of 3 tasks)\n");
  ReportNode only_memory = task(1, 1, 3);
  only_memory.row.requested.millicpus.reset();
  only_memory.row.memory_bytes.reset();
  CHECK(text_of({only_memory}).empty());
  CHECK(text_of({unknown}).empty());
  CHECK(to_json(report_of({unknown, living})).find("requested_use") == std::string::npos);
}
