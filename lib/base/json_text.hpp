// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace tracer::internal {

/// Appends `text` as a JSON string, in quotes. Controls and what steers a terminal are escaped; bytes that are not
/// UTF-8 become U+FFFD.
void append_json_text(std::string& out, std::string_view text);

}  // namespace tracer::internal
