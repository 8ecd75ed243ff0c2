// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <tracer/process.hpp>

#include "wire.h"

namespace tracer::internal {

/// The user id that a process acted as. Absent: not known.
inline std::optional<std::uint32_t> acting_user(std::uint32_t user, const Process& process) noexcept {
  return user == TRACER_USER_OF_PROGRAM ? process.program->exec_euid : user;
}

}  // namespace tracer::internal
