// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tracer::internal {

/// With what can't be seen written out, such as \x1b and \u202e, and so with bytes that are not UTF-8, and all beyond
/// ASCII where UTF-8 can't be shown; at most `most` characters of it, and an ellipsis behind them.
std::string visible(std::string_view text, std::size_t most = std::string_view::npos);

/// Likewise of text in lines, which stay.
std::string visible_in_lines(std::string_view text);

}  // namespace tracer::internal
