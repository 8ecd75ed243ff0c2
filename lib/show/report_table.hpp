// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <tracer/report.hpp>

#include "show/grid.hpp"

namespace tracer::internal {

/// The rows of the table. Absent: few of the tree, or of tools where nothing belongs to a run.
enum class By { kRun, kStep, kTask, kSample, kTool, kProcess, kTree };

/// By the names that users give; "run, step, …" in messages.
std::optional<By> by_named(std::string_view name);
std::string names_of_by();

struct ShownTable {
  Grid grid;
  std::string legend;  ///< What the signs in it mean; lines, each with its end.
};

/// The rows and the total. In so few columns of text as there are, it does without those that matter least.
ShownTable make_table(const Report& report, std::optional<By> by, std::optional<std::size_t> columns);

/// The same as text.
std::string format_tables(const Report& report, std::optional<By> by, std::optional<std::size_t> columns);

}  // namespace tracer::internal
