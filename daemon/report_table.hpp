// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <tracer/report.hpp>

namespace tracerd {

/// The rows of the table. Absent: the tree, or tools where nothing belongs to a run.
enum class By { kRun, kStep, kTask, kTool, kProcess };

/// The rows, the total, and the legend of what is in them. In so few columns of text as there are, it does without
/// those that matter least.
std::string format_tables(const tracer::Report& report, std::optional<By> by, std::optional<std::size_t> columns);

}  // namespace tracerd
