// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace tracer::internal {

/// The files of views/ that make a page: "template", "style", "script" or "icon"; and "style_sha256", "script_sha256"
/// in hexadecimal digits. Empty for another name.
std::string_view page_file(std::string_view name) noexcept;

}  // namespace tracer::internal
