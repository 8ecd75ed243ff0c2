// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <tracer/report.hpp>

namespace tracer::internal {

/// One line: "The longest chain of tasks, index, align (S1), took 9.8 s of 19.5 s, by the files that they passed on:
/// …". `run_ns`: what the run took.
std::string format_path(const CriticalPath& path, Figure run_ns);

/// That line of each run with several tasks, after an empty line. Empty: there is no such run.
std::string format_paths(const Report& report);

}  // namespace tracer::internal
