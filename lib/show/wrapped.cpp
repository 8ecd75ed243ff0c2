// SPDX-License-Identifier: Apache-2.0
#include "show/wrapped.hpp"

#include <algorithm>

#include "show/character_width.hpp"

namespace tracer::internal {

std::string wrapped(const std::string& text, std::optional<std::size_t> columns) {
  if (!columns) return text;
  constexpr const char* kIndent = "    ";
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line;
    for (std::size_t at = begin; at < end;) {
      const std::size_t word = std::min(text.find_first_not_of(' ', at), end);
      const std::size_t next = std::min(text.find(' ', word), end);
      const std::string piece = text.substr(at, next - at);
      if (!line.empty() && width_of(line) + width_of(piece) >= *columns) {
        out += line + '\n';
        line = kIndent + text.substr(word, next - word);
      } else {
        line += piece;
      }
      at = next;
    }
    out += line;
    if (end < text.size()) out += '\n';
    begin = end + 1;
  }
  return out;
}

}  // namespace tracer::internal
