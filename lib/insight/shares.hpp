// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tracer::internal {

/// Rounded down; 0 of nothing.
inline std::uint64_t percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<std::uint64_t>(static_cast<double>(part) * 100 / static_cast<double>(whole));
}

}  // namespace tracer::internal
