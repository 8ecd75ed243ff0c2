// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "source/kernel/kernel_counters.hpp"

namespace tracer::internal {

/// Waits, at most so long, until those that have been reaped reach their last switch, a moment after their parents have
/// heard of their end: until all that the kernel side tracks live.
void let_ending_end(const KernelCounters& counters, std::chrono::milliseconds most);

}  // namespace tracer::internal
