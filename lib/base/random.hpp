// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tracer::internal {

/// From the system's generator.
std::uint64_t random_number();

}  // namespace tracer::internal
