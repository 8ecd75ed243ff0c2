// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <tracer/report.hpp>

namespace tracer::internal {

/// An estimate: the part of the machine's price that tasks requested and did not use.
struct WasteCost {
  std::uint64_t micro_usd = 0;
  bool at_least = false;  ///< Of some tasks only the CPUs or only the memory are known.
  HourlyPrice price;

  /// A decimal number with 6 places.
  std::string amount() const;
  /// All of it in words, on one line, with the age of an old price.
  std::string text() const;
};

/// By the report's price. Absent: it has none that is one, its machines are of another type, or no task that ended has
/// a request whose use is known.
std::optional<WasteCost> waste_cost_of(const Report& report);

}  // namespace tracer::internal
