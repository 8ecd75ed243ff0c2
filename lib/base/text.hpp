// SPDX-License-Identifier: Apache-2.0
/// Small text helpers that several stages need.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tracer::internal {

/// Whether "[a-z]" in a glob is one of these bytes, or just these characters.
enum class Brackets { kPlain, kClasses };

/// `*` any run, `?` any one byte, all else itself. Takes at most pattern times text, which fnmatch() does not, and no
/// locale. kClasses: each '[' must be closed.
bool glob_matches(std::string_view glob, std::string_view text, Brackets brackets = Brackets::kPlain) noexcept;

/// The part after the last '/'; slashes at the end don't count. Empty for "/".
std::string_view base_name(std::string_view path) noexcept;

/// The whole of a small file such as those of /proc; absent if it can't be read. Reads at most `limit` bytes.
std::optional<std::string> read_small_file(const std::string& path, std::size_t limit = 1u << 20);

std::string_view trim(std::string_view text) noexcept;

}  // namespace tracer::internal
