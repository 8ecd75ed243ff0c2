// SPDX-License-Identifier: Apache-2.0
/// How many columns of a terminal text takes. Not by the C library, whose answer depends on the locale of the process.
#pragma once

#include <cstddef>
#include <string_view>

namespace tracer::internal {

/// 0, 1 or 2.
std::size_t width_of(char32_t character) noexcept;

/// Of UTF-8 that printable() has let through.
std::size_t width_of(std::string_view text) noexcept;

/// Of such text, which is not empty; `length` gets its bytes.
char32_t first_character(std::string_view text, std::size_t& length) noexcept;

}  // namespace tracer::internal
