// SPDX-License-Identifier: Apache-2.0
/// What the cells of a row say, in text and page.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include <tracer/report.hpp>

#include "report/row_figures.hpp"
#include "report/sums/rows.hpp"
#include "show/figures.hpp"

namespace tracer::internal {

inline std::string text_of_number(std::uint64_t value, Unit unit) {
  switch (unit) {
    case Unit::kNs: return format_duration(value);
    case Unit::kBytes: return format_bytes(value);
    default: return fmt::format("{}", value);
  }
}
inline std::string text_of_number(double value, Unit) { return format_share(value); }

/// "≥ 12 %" where a part is not known; "-": nothing is. `with_at_most`: an upper bound stands behind a lower one.
template <class T>
std::string cell_text(const ReportRow& row, const RowFigure<T>& figure, bool with_at_most = true) {
  const auto found = known(row, figure);
  const std::string_view name = figure.name;
  // The rest of the column says more when these are empty.
  if (name == "failed" && row.failed.value == 0) return "";
  if (name == "processes" && row.processes == 0) return kUnknownFigure;
  std::string text;
  if (found.exact) text = text_of_number(*found.exact, figure.unit);
  if (found.at_least) text = with_bound(Bound::kAtLeast, text_of_number(*found.at_least, figure.unit));
  if (found.at_most && (text.empty() || with_at_most))
    text += (text.empty() ? "" : " ") + with_bound(Bound::kAtMost, text_of_number(*found.at_most, figure.unit));
  if (text.empty()) text = kUnknownFigure;
  // That it is not less than nothing says nothing.
  if (name == "cpu_utilization" && text == with_bound(Bound::kAtLeast, text_of_number(0.0, figure.unit))) return "";
  if (name == "cpu_utilization" && row.requested.millicpus)
    text += " of " + format_share(static_cast<double>(*row.requested.millicpus) / 1000);
  if (name == "memory_bytes" && row.requested.memory_bytes) text += " of " + format_bytes(*row.requested.memory_bytes);
  return text;
}

/// "queued", "cached": of a submitted task that has not started here; empty: of any other.
inline std::string submitted_text(const SubmittedTask& task) {
  const std::string_view state = state_of(task);
  if (state == "finished") return task.outcome.value_or("ended") + " elsewhere";
  return state == "withdrawn" ? task.outcome.value_or("withdrawn") : std::string(state);
}

}  // namespace tracer::internal
