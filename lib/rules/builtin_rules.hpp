// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace tracer::internal {

/// The text of a file of rules/ that is built into the library: "tools", "secrets", "engines", "files", "containers",
/// "findings", "gpu_libraries", "syscalls", "hosts", "ports". Empty: there is none of that name. cmake/EmbedFiles.cmake
/// generates its definition.
std::string_view builtin_rules(std::string_view name) noexcept;

}  // namespace tracer::internal
