// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "report/lineage.hpp"

namespace tracer::internal {

/// As people see it: relative to the folder that the runs were started in, if it is below it.
std::string shown_path(const LineageGraph& lineage, const LineageFile& file);
/// The files themselves, largest traffic first, as lines of a table.
std::string files_text(const LineageGraph& lineage);
/// For each task what it read and wrote, and who wrote or read that; then what was written and not read.
std::string lineage_text(const LineageGraph& lineage);
/// In the language of Graphviz: tasks are boxes, and files that the same tasks wrote and read are one note. What a task
/// wrote, read and deleted itself is left out.
std::string lineage_dot(const LineageGraph& lineage);

}  // namespace tracer::internal
