// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "source/records.hpp"

namespace tracer::internal {

/// What /proc says of a living process: exe, cwd, arguments, and its path in `hierarchy`.
TextRecord proc_text(std::uint32_t pid, std::uint64_t start_ns, Hierarchy hierarchy);

/// Its cgroup's path in that hierarchy.
std::optional<std::string> proc_cgroup(std::uint32_t pid, Hierarchy hierarchy);

}  // namespace tracer::internal
