// SPDX-License-Identifier: Apache-2.0
#include "show/compare_text.hpp"

#include <cmath>
#include <cstdint>
#include <tuple>

#include <fmt/format.h>

#include "show/figures.hpp"
#include "show/grid.hpp"
#include "show/screen.hpp"
#include "show/visible.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostComparedRows = 40;
constexpr std::size_t kMostRowName = 40;
constexpr std::size_t kMostReasons = 3;
constexpr std::size_t kMostFailed = 100;
constexpr double kSame = 0.05;

bool is_duration(Measure measure) { return measure == Measure::kWall || measure == Measure::kCpu; }

std::string compared_text(Measure measure, const std::optional<double>& value) {
  if (!value) return kUnknownFigure;
  const auto whole = static_cast<std::uint64_t>(std::llround(*value));
  return is_duration(measure) ? format_duration(whole) : format_bytes(whole);
}

std::string percent(double change) {
  // Nobody reads thousands of percent.
  return change > 9 ? fmt::format("x {:.0f}", 1 + change) : fmt::format("{:+.0f} %", 100 * change);
}

std::string change_text(const MeasureChange& change) {
  if (!change.change) return change.verdict == ChangeVerdict::kMore ? "more" : kUnknownFigure;
  if (change.verdict == ChangeVerdict::kSame) return "same";
  return percent(*change.change) + (change.may_be_noise ? " ?" : "");
}

std::string word_for(const RowChange& row) {
  const MeasureChange& wall = row.of(Measure::kWall);
  std::string word;
  if (row.n_a == 0 || row.n_b == 0) {
    word = row.n_a == 0 ? "only in B" : "only in A";
  } else if (wall.verdict == ChangeVerdict::kSame) {
    word = "same";
  } else if (wall.verdict != ChangeVerdict::kNotKnown) {
    const bool more = wall.verdict == ChangeVerdict::kMore;
    word = wall.of_sums ? (more ? "more in all" : "less in all") : (more ? "slower" : "faster");
  }
  for (const auto& [failed, n, side] : {std::tuple(row.failed_a, row.n_a, 'A'), std::tuple(row.failed_b, row.n_b, 'B')})
    if (failed != 0) word += fmt::format("{}{} of {} failed in {}", word.empty() ? "" : ", ", failed, n, side);
  return word.empty() ? kUnknownFigure : word;
}

/// "less waiting for a CPU"
std::string cause_text(TimeCause cause, double by_ns) {
  return (by_ns > 0 ? "more " : "less ") + (cause == TimeCause::kCpu ? "computing"
                                            : cause == TimeCause::kRunQueue
                                                ? "waiting for a CPU"
                                                : fmt::format("waiting ({})", to_string(cause)));
}

/// "; ALIGN 14.5 s less each, most of it less waiting for a CPU"
std::string reasons_text(const std::vector<RowChange>& rows) {
  std::string text;
  std::size_t named = 0;
  for (const RowChange& row : rows) {
    const MeasureChange& wall = row.of(Measure::kWall);
    const bool in_both = row.n_a != 0 && row.n_b != 0;
    const bool changed = wall.verdict == ChangeVerdict::kMore || wall.verdict == ChangeVerdict::kLess;
    if (in_both ? !changed : wall.sum_a + wall.sum_b == 0) continue;
    // The child's own row says more.
    if (row.cause == TimeCause::kChild || ++named > kMostReasons) continue;
    const bool of_each = in_both && !wall.of_sums;
    const double by = of_each ? *wall.median_b - *wall.median_a : wall.sum_b - wall.sum_a;
    text += fmt::format("; {} {} {}{}", visible(row.name, kMostRowName), compared_text(Measure::kWall, std::abs(by)),
                        by > 0 ? "more" : "less",
                        row.n_a + row.n_b <= 2 ? ""
                        : of_each              ? " each"
                                               : " in all");
    if (row.cause) text += ", most of it " + cause_text(*row.cause, row.cause_ns);
  }
  return text;
}

/// "4 of 4 tasks failed in B: align"; of processes where no task failed. Empty: none did.
std::string failures_text(const Comparison& compared) {
  std::string text;
  for (const auto& [name, side, failed] :
       {std::tuple('A', &compared.a, &RowChange::failed_a), std::tuple('B', &compared.b, &RowChange::failed_b)}) {
    const bool tasks = side->failed_tasks != 0;
    std::string which;
    for (const RowChange& row : tasks ? compared.steps : compared.tools)
      if (row.*failed != 0) which += (which.empty() ? ": " : ", ") + row.name;
    if (!tasks && which.empty()) continue;
    if (tasks) text += fmt::format("{} of {} ", side->failed_tasks, format_count(side->tasks, "task", "tasks"));
    text += fmt::format("failed in {}{}\n", name, visible(which, kMostFailed));
  }
  return text;
}

std::string whole_text(const Comparison& compared) {
  const auto& [a, b, steps, tools] = compared;
  if (a.wall_ns == 0 || b.wall_ns == 0) return {};
  const auto mark = [](const ComparedSide& side) {
    return side.outcome == "succeeded" || side.outcome == "unknown" ? "" : fmt::format(" ({})", side.outcome);
  };
  const std::string failures = failures_text(compared);
  const double change = b.wall_ns / a.wall_ns - 1;
  std::string why = reasons_text(steps);
  if (why.empty() && failures.empty()) why = reasons_text(tools);
  std::string by;
  if (failures.empty() && mark(a).empty() && mark(b).empty())
    by = std::abs(change) <= kSame ? " (same)" : fmt::format(" ({})", percent(change));
  return fmt::format("B took {}{} instead of {}{}{}{}\n{}\n", compared_text(Measure::kWall, b.wall_ns), mark(b),
                     compared_text(Measure::kWall, a.wall_ns), mark(a), by, why, failures);
}

std::string compared_table(const char* what, const std::vector<RowChange>& rows) {
  if (rows.empty()) return {};
  Grid grid({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft, Align::kRight,
             Align::kRight, Align::kRight, Align::kRight});
  grid.add({what, "n", "wall A", "wall B", "change", "", "cpu", "memory", "read", "written"});
  for (std::size_t i = 0; i < std::min(rows.size(), kMostComparedRows); ++i) {
    const RowChange& row = rows[i];
    const MeasureChange& wall = row.of(Measure::kWall);
    grid.add({visible(row.name, kMostRowName), fmt::format("{}, {}", row.n_a, row.n_b),
              compared_text(Measure::kWall, wall.of_sums ? wall.sum_a : wall.median_a),
              compared_text(Measure::kWall, wall.of_sums ? wall.sum_b : wall.median_b), change_text(wall),
              word_for(row), change_text(row.of(Measure::kCpu)), change_text(row.of(Measure::kPeak)),
              change_text(row.of(Measure::kRead)), change_text(row.of(Measure::kWritten))});
  }
  if (rows.size() > kMostComparedRows)
    grid.add({fmt::format("{} {} more", symbols().ellipsis, rows.size() - kMostComparedRows)});
  return grid.text();
}

}  // namespace

std::string compare_text(const Comparison& compared) {
  std::string text = compared_table("step", compared.steps);
  const std::string more = compared_table("tool", compared.tools);
  if (!text.empty() && !more.empty()) text += '\n';
  text = whole_text(compared) + text + more;
  if (text.empty()) return "Nothing to compare: neither has a step or a tool.\n";
  return text +
         "\nMedians of a task (step) that did not fail, or of a process (tool). 'in all': sums, because n differs. "
         "'same': within chance. '?': fewer than 3 on one side, and too few other runs; it may be noise. "
         "Left out is what took less than 1 % of both.\n";
}

}  // namespace tracer::internal
