// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <tracer/report.hpp>

namespace tracer::internal {

/// What tasks requested and did not use. Of tasks that ended, whose request and use are known.
struct Waste {
  struct Part {
    std::uint64_t tasks = 0;  ///< That count here.
    double requested = 0;
    double unused = 0;  ///< Of each task at least 0: what one took beyond its request is no other's.
  };
  Part cpu_hours;
  Part memory_gib_hours;  ///< Unused even at the task's peak.
};

Waste waste_of(const Report& report);

}  // namespace tracer::internal
