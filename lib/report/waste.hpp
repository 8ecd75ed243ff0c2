// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <tracer/report.hpp>

#include "base/wide.hpp"

namespace tracer::internal {

/// What tasks requested and did not use. Of tasks that ended, whose request and use are known.
struct Waste {
  /// Summed in units that are whole, so that what it costs is exact.
  struct Part {
    Wide units_in_hour = 1;
    std::uint64_t tasks = 0;  ///< That count here.
    Wide requested_units = 0;
    Wide unused_units = 0;  ///< Of each task at least 0: what one took beyond its request is no other's.

    double requested() const { return hours(requested_units); }
    double unused() const { return hours(unused_units); }
    double hours(Wide units) const { return static_cast<double>(units) / static_cast<double>(units_in_hour); }
  };
  static constexpr Wide kNsInHour = 3'600'000'000'000;

  Part cpu_hours{.units_in_hour = 1000 * kNsInHour};        ///< Units: nanoseconds of a thousandth of a CPU.
  Part memory_gib_hours{.units_in_hour = kNsInHour << 30};  ///< Units: a byte for a nanosecond. Of the task's peak.
};

Waste waste_of(const Report& report);

}  // namespace tracer::internal
