// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace tracer::internal {

/// Lines that are too long continue in the next one, after a space between two words. `text` is printable() already.
std::string wrapped(const std::string& text, std::optional<std::size_t> columns);

}  // namespace tracer::internal
