// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tracer/report.hpp>

namespace tracer::internal {

/// Why a task has a row of its own.
enum class Worth { kNothing, kSlowest, kHungriest, kFailed };

/// A row of the table that is read in ten seconds.
struct BriefRow {
  SummaryLevel level = SummaryLevel::kTool;
  std::size_t depth = 0;
  /// Its name is the one to show: never an engine's id. Of tools: summed over the tasks of the step or run above.
  ReportRow row;
  std::optional<Figure> median_wall_ns = {};  ///< Of its tasks that have ended. Absent: not all are known.
  std::optional<Figure> largest_wall_ns = {};
  Worth worth = Worth::kNothing;  ///< Of a task.
  std::size_t left_out = 0;       ///< Not 0: this row stands for so many of its level that have none.
};

/// Only runs that are named by the command that a session follows, and without tasks: they say no more than tools.
bool are_commands_alone(const std::vector<ReportNode>& tree);

/// At most `most` rows of the report's tree: its runs, their steps with what their tasks have in common, the tasks
/// worth naming, and the tools that consumed most, the engines' own work in one row each. What cost nothing is left
/// out. None of a command alone.
std::vector<BriefRow> brief_rows(const Report& report, std::size_t most);

}  // namespace tracer::internal
