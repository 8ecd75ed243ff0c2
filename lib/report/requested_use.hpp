// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <tracer/report.hpp>

namespace tracer::internal {

/// Sets, of runs and steps, what their tasks requested beside what they used.
void set_requested_use(std::vector<ReportNode>& nodes);

}  // namespace tracer::internal
