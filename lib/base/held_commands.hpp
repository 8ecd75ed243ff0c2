// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace tracer::internal {

/// Children of this process that wait, as copies of it, until they may execute their command. What a copy does before
/// is nobody's work. Any thread.
void note_held_command(pid_t pid);
void forget_held_command(pid_t pid) noexcept;
bool is_held_command(pid_t pid);

}  // namespace tracer::internal
