// SPDX-License-Identifier: Apache-2.0
#include "show/page.hpp"

#include <string_view>

#include <fmt/format.h>

#include "show/page_files.hpp"
#include "show/screen.hpp"
#include "show/visible.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostTitleLength = 200;

std::uint32_t digit_of(char c) { return static_cast<std::uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10); }

/// Base64 of hexadecimal digits, an even number of them.
std::string base64_of(std::string_view digits) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t at = 0; at < digits.size(); at += 6) {
    const std::string_view group = digits.substr(at, 6);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 6; ++i) bits = bits << 4 | (i < group.size() ? digit_of(group[i]) : 0);
    // Of 1, 2, or 3 bytes.
    const std::size_t letters = group.size() / 2 + 1;
    for (std::size_t i = 0; i < 4; ++i) out += i < letters ? kLetters[bits >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

/// Only the page's own style and script count; nothing is fetched or sent.
std::string policy() {
  return fmt::format(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{}'; script-src "
      "'sha256-{}'; base-uri 'none'; form-action 'none'\">\n",
      base64_of(page_file("style_sha256")), base64_of(page_file("script_sha256")));
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#x27;"; break;
      default: out += c;
    }
  }
  return out;
}

/// JSON that can't end the element it is in, whatever its texts are.
std::string embedded(std::string_view json) {
  std::string out;
  for (const char c : json) {
    switch (c) {
      case '&': out += "\\u0026"; break;
      case '<': out += "\\u003c"; break;
      case '>': out += "\\u003e"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace

std::string page_of(std::string_view document, const std::string& title, const std::string& text) {
  // Wherever it is made.
  const Utf8Scope utf8(true);
  const auto part_of = [&](std::string_view place) -> std::string {
    if (place == "POLICY") return policy();
    if (place == "TITLE") return escaped(visible(title, kMostTitleLength));
    if (place == "STYLE") return fmt::format("<style>{}</style>", page_file("style"));
    if (place == "TEXT") return escaped(visible_in_lines(text));
    if (place == "DATA") return R"(<script type="application/json" id="data">)" + embedded(document) + "</script>\n";
    return fmt::format("<script>{}</script>", page_file("script"));
  };
  // Names of the template's places stand between two signs: what is filled in is never looked at again.
  std::string page;
  std::string_view rest = page_file("template");
  for (bool place = false;; place = !place) {
    const std::size_t end = rest.find('%');
    const std::string_view piece = rest.substr(0, end);
    page += place ? part_of(piece) : std::string(piece);
    if (end == std::string_view::npos) return page;
    rest.remove_prefix(end + 1);
  }
}

}  // namespace tracer::internal
