// SPDX-License-Identifier: Apache-2.0
#include "show/printable.hpp"

#include <algorithm>

#include "base/utf8.hpp"
#include "show/character_width.hpp"
#include "show/screen.hpp"

namespace tracer::internal {
namespace {

/// On one character; more would fill the lines around it.
constexpr std::size_t kMostMarks = 4;

/// The bytes of the UTF-8 character that a text begins with; 0: it is none, or one that would steer a terminal.
std::size_t printable_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x20 || first == 0x7f) return 0;
  const std::size_t length = utf8_length(text);
  return length > 1 && steering_code(text.substr(0, length)) != 0 ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
  std::string out;
  for (std::size_t left = most, marks = 0; !text.empty();) {
    const bool foreign = !writes_utf8() && static_cast<unsigned char>(text.front()) >= 0x80;
    const std::size_t length = printable_length(text);
    const std::string_view shown = length == 0 || foreign ? std::string_view("?") : text.substr(0, length);
    const std::size_t width = width_of(shown);
    marks = width == 0 ? marks + 1 : 0;
    if (width > left) return out + symbols().ellipsis;
    if (most != std::string_view::npos) left -= width;
    if (marks <= kMostMarks) out += shown;
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string printable_ends(std::string_view text, std::size_t most) {
  const std::string whole = printable(text);
  std::size_t left = width_of(whole);
  if (left <= most) return whole;
  std::string_view end = whole;
  for (std::size_t length = 0; left > most / 2; end.remove_prefix(length))
    left -= width_of(first_character(end, length));
  return printable(text, most - most / 2) + std::string(end);
}

std::string printable_lines(std::string_view text) {
  std::string out;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
    out += printable(text.substr(0, end)) + '\n';
  return out + printable(text);
}

}  // namespace tracer::internal
