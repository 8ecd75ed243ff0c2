// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>

namespace tracer::internal {

/// Waits for the end of a child, whatever signals come meanwhile. Its wait status; absent: somebody else has it.
std::optional<int> reap(pid_t child) noexcept;

}  // namespace tracer::internal
