// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tracer::internal {

/// How long a short system call takes now, in the calling thread: the fastest of several rounds, in a few milliseconds.
double shortest_call_ns();

}  // namespace tracer::internal
