// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tracer::internal {

/// In at most `most` columns, and an ellipsis. What steers a terminal must not reach it in other people's names.
std::string printable(std::string_view text, std::size_t most = std::string_view::npos);

/// Likewise, without its middle: what is listed together often begins alike.
std::string printable_ends(std::string_view text, std::size_t most);

/// Of messages, which contain names: all of it, in the same lines.
std::string printable_lines(std::string_view text);

}  // namespace tracer::internal
