// SPDX-License-Identifier: Apache-2.0
#include "show/compare_text.hpp"

#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "show/figures.hpp"
#include "show/grid.hpp"
#include "show/screen.hpp"
#include "show/visible.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostComparedRows = 40;
constexpr std::size_t kMostRowName = 40;

bool is_duration(Measure measure) { return measure == Measure::kWall || measure == Measure::kCpu; }

std::string compared_text(Measure measure, const std::optional<double>& value) {
  if (!value) return kUnknownFigure;
  const auto whole = static_cast<std::uint64_t>(std::llround(*value));
  return is_duration(measure) ? format_duration(whole) : format_bytes(whole);
}

std::string change_text(const MeasureChange& change) {
  if (!change.change) return change.verdict == ChangeVerdict::kMore ? "more" : kUnknownFigure;
  if (change.verdict == ChangeVerdict::kSame) return "same";
  return fmt::format("{:+.0f} %{}", 100 * *change.change, change.may_be_noise ? " ?" : "");
}

std::string word_for(const RowChange& row) {
  const MeasureChange& wall = row.of(Measure::kWall);
  if (wall.n_a == 0) return "only in B";
  if (wall.n_b == 0) return "only in A";
  switch (wall.verdict) {
    case ChangeVerdict::kMore: return "slower";
    case ChangeVerdict::kLess: return "faster";
    case ChangeVerdict::kSame: return "same";
    case ChangeVerdict::kNotKnown: break;
  }
  return kUnknownFigure;
}

std::string compared_table(const char* what, const std::vector<RowChange>& rows) {
  if (rows.empty()) return {};
  Grid grid({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft, Align::kRight,
             Align::kRight, Align::kRight, Align::kRight});
  grid.add({what, "n", "wall A", "wall B", "change", "", "cpu", "memory", "read", "written"});
  for (std::size_t i = 0; i < std::min(rows.size(), kMostComparedRows); ++i) {
    const RowChange& row = rows[i];
    const MeasureChange& wall = row.of(Measure::kWall);
    grid.add({visible(row.name, kMostRowName), fmt::format("{}, {}", wall.n_a, wall.n_b),
              compared_text(Measure::kWall, wall.median_a), compared_text(Measure::kWall, wall.median_b),
              change_text(wall), word_for(row), change_text(row.of(Measure::kCpu)), change_text(row.of(Measure::kPeak)),
              change_text(row.of(Measure::kRead)), change_text(row.of(Measure::kWritten))});
  }
  if (rows.size() > kMostComparedRows)
    grid.add({fmt::format("{} {} more", symbols().ellipsis, rows.size() - kMostComparedRows)});
  return grid.text();
}

}  // namespace

std::string compare_text(const std::vector<RowChange>& steps, const std::vector<RowChange>& tools) {
  std::string text = compared_table("step", steps);
  const std::string more = compared_table("tool", tools);
  if (!text.empty() && !more.empty()) text += '\n';
  text += more;
  if (text.empty()) return "Nothing to compare: neither has a step or a tool.\n";
  return text +
         "\nMedians of a task (step) or a process (tool). same: chance explains the difference. ?: fewer than 3 on one "
         "side, and too few other runs; it may be noise.\n";
}

}  // namespace tracer::internal
