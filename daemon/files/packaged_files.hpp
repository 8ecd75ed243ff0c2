// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace tracer::internal {

/// Files of packaging/ that tracerd writes: "unit", systemd's. Empty for another name.
std::string_view packaged_file(std::string_view name) noexcept;

}  // namespace tracer::internal
