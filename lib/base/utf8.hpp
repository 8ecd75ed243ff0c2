// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace tracer::internal {

/// The length of the UTF-8 sequence at the start of `text`, or 0 if there is none.
inline std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  unsigned code = 0;
  if ((first & 0xe0u) == 0xc0) {
    length = 2;
    code = first & 0x1fu;
  } else if ((first & 0xf0u) == 0xe0) {
    length = 3;
    code = first & 0x0fu;
  } else if ((first & 0xf8u) == 0xf0) {
    length = 4;
    code = first & 0x07u;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0u) != 0x80) return 0;
    code = (code << 6) | (byte(i) & 0x3fu);
  }
  constexpr unsigned kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return 0;
  return length;
}

inline bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

/// The code of a sequence that utf8_length() found, if it steers a terminal, reorders the text around it or hides: C1
/// controls, marks of direction, characters that show nothing, separators of lines. 0: it does not.
/// The Python package has the same ones.
inline unsigned steering_code(std::string_view sequence) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
  unsigned code = 0;
  if (sequence.size() == 2) code = (byte(0) & 0x1fu) << 6 | (byte(1) & 0x3fu);
  if (sequence.size() == 3) code = (byte(0) & 0x0fu) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu);
  if (sequence.size() == 4)
    code = (byte(0) & 0x07u) << 18 | (byte(1) & 0x3fu) << 12 | (byte(2) & 0x3fu) << 6 | (byte(3) & 0x3fu);
  constexpr unsigned kRanges[][2] = {{0x80, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},    {0x115f, 0x1160},
                                     {0x17b4, 0x17b5}, {0x180e, 0x180e}, {0x200b, 0x200f},  {0x2028, 0x202e},
                                     {0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f},  {0xfeff, 0xfeff},
                                     {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0xe0000, 0xe0fff}};
  for (const auto& [first, last] : kRanges)
    if (first <= code && code <= last) return code;
  return 0;
}

}  // namespace tracer::internal
