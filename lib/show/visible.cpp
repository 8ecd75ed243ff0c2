// SPDX-License-Identifier: Apache-2.0
#include "show/visible.hpp"

#include <fmt/format.h>

#include "base/utf8.hpp"
#include "show/screen.hpp"

namespace tracer::internal {

std::string visible(std::string_view text, std::size_t most) {
  std::string out;
  for (std::size_t shown = 0; !text.empty(); ++shown) {
    if (shown == most) return out + symbols().ellipsis;
    const auto byte = static_cast<unsigned char>(text.front());
    const std::size_t length = utf8_length(text);
    if (length == 0 || byte < 0x20 || byte == 0x7f || (byte > 0x7f && !writes_utf8())) {
      out += fmt::format("\\x{:02x}", byte);
      text.remove_prefix(1);
      continue;
    }
    const unsigned code = length > 1 ? steering_code(text.substr(0, length)) : 0;
    if (code == 0) {
      out += text.substr(0, length);
    } else {
      out += code < 0x100     ? fmt::format("\\x{:02x}", code)
             : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                              : fmt::format("\\U{:08x}", code);
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string visible_in_lines(std::string_view text) {
  std::string out;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
    out += visible(text.substr(0, end)) + '\n';
  return out + visible(text);
}

}  // namespace tracer::internal
