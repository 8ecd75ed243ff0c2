// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <tracer/report.hpp>

#include "grid.hpp"

namespace tracerd {

/// The rows of the table. Absent: the tree, or tools where nothing belongs to a run.
enum class By { kRun, kStep, kTask, kSample, kTool, kProcess };

struct ShownTable {
  Grid grid;
  std::string legend;  ///< What the signs in it mean; lines, each with its end.
};

/// The rows and the total. In so few columns of text as there are, it does without those that matter least.
ShownTable make_table(const tracer::Report& report, std::optional<By> by, std::optional<std::size_t> columns);

/// The same as text.
std::string format_tables(const tracer::Report& report, std::optional<By> by, std::optional<std::size_t> columns);

}  // namespace tracerd
