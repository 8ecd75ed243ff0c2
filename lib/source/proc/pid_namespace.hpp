// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace tracer::internal {

/// The inode number of this process's pid namespace; 0: the initial one, which shows the kernel's own numbers.
std::uint32_t own_pid_namespace() noexcept;

/// By the text of /proc/self/status: whether that /proc is of the namespace that this process is in, as one of a
/// namespace above shows a process's numbers in both.
bool shows_own_namespace(std::string_view status) noexcept;

}  // namespace tracer::internal
