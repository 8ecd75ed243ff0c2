// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tracer {

/// A TRACER_WIRE_TEXT record of what /proc says of a living process: exe, cwd, arguments, and its path in `hierarchy`.
std::vector<std::byte> proc_text(std::uint32_t pid, std::uint64_t start_ns, std::uint32_t hierarchy);

/// Its cgroup's path in that hierarchy (TRACER_HIERARCHY_*).
std::optional<std::string> proc_cgroup(std::uint32_t pid, std::uint32_t hierarchy);

}  // namespace tracer
