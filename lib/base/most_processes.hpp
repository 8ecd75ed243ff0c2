// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace tracer::internal {

/// As many as the kernel side follows at once. Users share its table fairly, so a table with a row for each of these
/// needs no rule of its own.
inline constexpr std::size_t kMostLivingProcesses = 262144;

}  // namespace tracer::internal
