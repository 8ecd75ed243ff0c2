// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace tracer::internal {

/// Fills in, by the number of each system call of this machine, what a thread waits for in it: see wire.h.
void fill_call_causes(std::span<std::uint8_t> causes);

}  // namespace tracer::internal
