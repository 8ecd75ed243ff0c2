// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace tracer::internal {

/// What stands between blanks. It lives as long as the text.
inline std::vector<std::string_view> words_of(std::string_view text, std::string_view blanks = " \t\n\r\f\v") {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; (at = text.find_first_not_of(blanks, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(blanks, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

}  // namespace tracer::internal
