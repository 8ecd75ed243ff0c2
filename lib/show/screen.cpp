// SPDX-License-Identifier: Apache-2.0
#include "show/screen.hpp"

#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <utility>

namespace tracer::internal {
namespace {

constexpr std::size_t kColumnsForTable = 40;

bool locale_is_utf8() noexcept {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* locale = std::getenv(name);
    if (locale == nullptr || *locale == '\0') continue;
    const std::string_view text = locale;
    const std::size_t dot = text.find('.');
    if (dot == std::string_view::npos) return false;
    const std::string_view charset = text.substr(dot + 1);
    return ::strncasecmp(charset.data(), "utf-8", 5) == 0 || ::strncasecmp(charset.data(), "utf8", 4) == 0;
  }
  return false;
}

thread_local std::optional<bool> said_utf8;

constexpr Symbols kUtf8{"≥", "≤", "…", "█", "▒", "?", "░"};
constexpr Symbols kAscii{">=", "<=", "...", "#", "+", "?", "."};

}  // namespace

bool writes_utf8() noexcept {
  static const bool utf8 = locale_is_utf8();
  return said_utf8.value_or(utf8);
}

Utf8Scope::Utf8Scope(bool utf8) noexcept : outer_(std::exchange(said_utf8, utf8)) {}
Utf8Scope::~Utf8Scope() { said_utf8 = outer_; }

const Symbols& symbols() noexcept { return writes_utf8() ? kUtf8 : kAscii; }

std::optional<std::size_t> terminal_columns(int fd) noexcept {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col < kColumnsForTable) return std::nullopt;
  return size.ws_col;
}

}  // namespace tracer::internal
