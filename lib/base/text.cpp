// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/unique_fd.hpp"

namespace tracer::internal {

namespace {

/// Matches "[...]" at `at`; moves `at` behind it.
bool class_matches(std::string_view glob, std::size_t& at, char c) noexcept {
  const auto close = std::min(glob.find(']', at + 2), glob.size());
  bool hit = false;
  for (std::size_t i = at + 1; i < close; ++i) {
    if (i + 2 < close && glob[i + 1] == '-') {
      hit = hit || (glob[i] <= c && c <= glob[i + 2]);
      i += 2;
    } else {
      hit = hit || glob[i] == c;
    }
  }
  at = close + 1;
  return hit;
}

}  // namespace

bool glob_matches(std::string_view glob, std::string_view text, Brackets brackets) noexcept {
  // Most texts differ in the first or the last character.
  const auto differ = [](char g, char t) { return g != t && g != '*' && g != '?' && g != '[' && g != ']'; };
  if (!glob.empty() && !text.empty() && (differ(glob.front(), text.front()) || differ(glob.back(), text.back())))
    return false;
  std::size_t g = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  /// Matches one byte; moves `next` behind the part of the glob that did.
  const auto one = [&](std::size_t& next) {
    if (g >= glob.size()) return false;
    next = g + 1;
    if (glob[g] == '?') return true;
    if (glob[g] != '[' || brackets == Brackets::kPlain) return glob[g] == text[t];
    return class_matches(glob, next = g, text[t]);
  };
  while (t < text.size()) {
    std::size_t next = 0;
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = t;
    } else if (one(next)) {
      g = next;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g >= glob.size();
}

std::string_view base_name(std::string_view path) noexcept {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  if (path == "/") return {};
  return path.substr(path.rfind('/') + 1);
}

std::optional<std::string> read_small_file(const std::string& path, std::size_t limit) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  std::string text;
  char buffer[4096];
  while (text.size() < limit) {
    const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  if (text.size() > limit) text.resize(limit);
  return text;
}

std::string_view trim(std::string_view text) noexcept {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

}  // namespace tracer::internal
