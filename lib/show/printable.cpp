// SPDX-License-Identifier: Apache-2.0
#include "show/printable.hpp"

#include <algorithm>
#include <iterator>

#include "show/character_width.hpp"
#include "show/screen.hpp"

namespace tracer::internal {
namespace {

/// On one character; more would fill the lines around it.
constexpr std::size_t kMostMarks = 4;

/// Controls, marks of direction, between lines, or what shows nothing. Both ends belong to it. In JSON and in the
/// Python package it is the same ones.
constexpr char32_t kHidden[][2] = {{0x80, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},    {0x115f, 0x1160},
                                   {0x17b4, 0x17b5}, {0x180e, 0x180e}, {0x200b, 0x200f},  {0x2028, 0x202e},
                                   {0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f},  {0xfeff, 0xfeff},
                                   {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0xe0000, 0xe0fff}};

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
  const bool too_long_or_no_character = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                                        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  if (too_long_or_no_character) return 0;
  char32_t code = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) code = code << 6 | (byte(i) & 0x3fu);
  const auto hides = [code](const auto& range) { return range[0] <= code && code <= range[1]; };
  return std::any_of(std::begin(kHidden), std::end(kHidden), hides) ? 0 : length;
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

}  // namespace tracer::internal
