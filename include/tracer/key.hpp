// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tracer/export.hpp>

namespace tracer {

/// Identifies a run or a task: the same number in each part of a recording and, if the engine has its own id, on each
/// host. Any thread.
enum class Key : std::uint64_t {};

/// 16 hexadecimal digits, as in JSON and tables.
TRACER_EXPORT std::string to_string(Key key);
/// Absent unless `digits` are 1 to 16 hexadecimal digits.
TRACER_EXPORT std::optional<Key> key_from(std::string_view digits) noexcept;

}  // namespace tracer
