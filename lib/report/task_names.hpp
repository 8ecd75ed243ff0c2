// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <tracer/report.hpp>

namespace tracer::internal {

/// Names tasks that nobody has named by what they run, and tells tasks with equal names below one node apart: by the
/// pid of their first process, or where that is not known, by the order of their starts. Calling it again changes
/// nothing.
void name_tasks(std::vector<ReportNode>& nodes);

}  // namespace tracer::internal
