// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <tracer/report.hpp>

namespace tracer::internal {

/// One line: "critical path: 12 tasks, 41 min of 47 min, by the files that they passed on; no task ran for 3 min".
/// `run_ns`: what the run took.
std::string format_path(const CriticalPath& path, Figure run_ns);

/// That line of each run with several tasks, after an empty line. Empty: there is no such run.
std::string format_paths(const Report& report);

}  // namespace tracer::internal
