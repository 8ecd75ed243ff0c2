// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace tracer::internal {

/// The text of a rules file. Throws Error(kFileUnreadable) with errno.
std::string read_rules_file(const std::filesystem::path& file);

}  // namespace tracer::internal
