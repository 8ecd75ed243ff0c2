// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "report/lineage.hpp"

namespace tracer::internal {

/// The files themselves, largest traffic first, as lines of a table.
std::string files_text(const LineageGraph& lineage);
/// For each task what it read and wrote, and who wrote or read that; then what was written and not read.
std::string lineage_text(const LineageGraph& lineage);
/// In the language of Graphviz: tasks are boxes, files are notes.
std::string lineage_dot(const LineageGraph& lineage);

}  // namespace tracer::internal
