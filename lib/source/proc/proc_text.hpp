// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "source/records.hpp"

namespace tracer::internal {

/// What /proc says of a living process: exe, cwd, arguments, and its path in `hierarchy`. Nothing when it does not
/// live, or another one has its pid by now.
TextRecord proc_text(std::uint32_t pid, std::uint64_t start_ns, Hierarchy hierarchy, const std::string& proc = "/proc");

/// False: in a cgroup namespace of its own this process sees other paths than the kernel side.
bool knows_cgroup_paths() noexcept;

/// Its cgroup's path in v1's hierarchy of this controller, as seen from here; "": in v2's.
std::optional<std::string> proc_cgroup_of(std::uint32_t pid, std::string_view controller,
                                          const std::string& proc = "/proc");

/// Its cgroup's path in that hierarchy, as seen from here.
std::optional<std::string> proc_cgroup(std::uint32_t pid, Hierarchy hierarchy, const std::string& proc = "/proc");

}  // namespace tracer::internal
