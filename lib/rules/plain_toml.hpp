// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace tracer::internal {

/// The line of the first character that is not ASCII and stands where only TOML's own words may: outside of strings and
/// comments. toml++ 3.3 has undefined behavior there. Absent: there is none.
std::optional<std::size_t> line_of_foreign_character(std::string_view text);

}  // namespace tracer::internal
