// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <tracer/scale.hpp>

namespace tracer::internal {

/// Kernel memory that a session of this size takes, all families included, but for some 0.1 MiB for each CPU.
std::uint64_t scale_cost_bytes(const Scale& scale) noexcept;

}  // namespace tracer::internal
