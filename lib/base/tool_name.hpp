// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <tracer/process.hpp>

namespace tracer::internal {

/// What a program is called: its tool, or as long as that is not known, the name that the kernel has for it.
inline std::optional<std::string> known_tool(const Program& program) {
  return program.tool ? program.tool : program.comm;
}

}  // namespace tracer::internal
