// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

namespace tracer::internal {

struct JsonBounds {
  std::size_t most_depth = 0;   ///< Objects and lists in each other.
  std::size_t most_values = 0;  ///< Objects and lists count, too.
  bool nul = true;              ///< Texts and names may have NUL in them.
};

enum class JsonFault : std::uint8_t { kNone, kMalformed, kTooDeep, kTooMany, kNul };

struct BoundedJson {
  nlohmann::json json;  ///< Discarded, unless there is no fault.
  JsonFault fault = JsonFault::kNone;
  std::size_t byte = 0;  ///< Up to which a malformed text was read.
};

/// Reads a text that anybody may have written, in one pass that ends at the first fault. The library's parse() with a
/// callback is no such pass: it looks through a list once for each object in it.
BoundedJson bounded_json(std::string_view text, const JsonBounds& bounds);

}  // namespace tracer::internal
