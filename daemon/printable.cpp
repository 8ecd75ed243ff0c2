// SPDX-License-Identifier: Apache-2.0
#include "printable.hpp"

#include <algorithm>

#include "character_width.hpp"
#include "screen.hpp"

namespace tracerd {
namespace {

/// On one character; more would fill the lines around it.
constexpr std::size_t kMostMarks = 4;

/// The bytes of the UTF-8 character that a text begins with; 0: it is none, or one that would steer a terminal.
std::size_t printable_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const unsigned second = byte(1);
  const bool control = first == 0xc2 && second < 0xa0;  // U+0080 to U+009F
  const bool too_long_or_no_character = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                                        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  const auto third_within = [&](unsigned least, unsigned most) { return byte(2) >= least && byte(2) <= most; };
  // Of no width, of direction, between lines: U+061C, U+200B to 200F, U+2028 to 202E, U+2066 to 2069.
  const bool steers = (first == 0xd8 && second == 0x9c) ||
                      (first == 0xe2 && second == 0x80 && (third_within(0x8b, 0x8f) || third_within(0xa8, 0xae))) ||
                      (first == 0xe2 && second == 0x81 && third_within(0xa6, 0xa9));
  return control || too_long_or_no_character || steers ? 0 : length;
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

std::string printable_lines(std::string_view text) {
  std::string out;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
    out += printable(text.substr(0, end)) + '\n';
  return out + printable(text);
}

}  // namespace tracerd
