// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <tracer/report.hpp>

namespace tracer::internal {

/// The exact value, else a bound of it, the lower one first.
inline std::optional<Figure> first_known(const std::optional<std::uint64_t>& exact,
                                         const std::optional<std::uint64_t>& at_least,
                                         const std::optional<std::uint64_t>& at_most) {
  if (exact) return Figure{*exact, Bound::kExact};
  if (at_least) return Figure{*at_least, Bound::kAtLeast};
  return at_most ? std::optional(Figure{*at_most, Bound::kAtMost}) : std::nullopt;
}

}  // namespace tracer::internal
