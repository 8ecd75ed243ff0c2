// SPDX-License-Identifier: Apache-2.0
/// Kinds of characters in command lines, and the bounds within which secrets are looked for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace tracer::internal {

namespace secret_text {

struct Hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
};
using Names = std::unordered_set<std::string, Hash, std::equal_to<>>;

inline constexpr auto kNone = std::string_view::npos;
inline constexpr std::string_view kMask = "***";
/// Between the two halves of an argument vector that was too long.
inline constexpr std::string_view kCut = "…";
/// No name of an option, variable or header is longer; a bound keeps looking back linear.
inline constexpr std::size_t kMaxName = 128;
/// From this size on argv may be cut (3 KiB of its head are kept), and so may be a token at the end of a word.
inline constexpr std::size_t kMaybeCut = 3000;

inline bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
inline bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_alnum(char c) { return is_upper(c) || is_lower(c) || is_digit(c); }
inline bool is_quote(char c) { return c == '"' || c == '\''; }
inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
inline bool is_name(char c) { return is_alnum(c) || c == '_' || c == '-' || c == '.'; }
inline char lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
inline std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = lower(c);
  return result;
}
inline bool is_any_of(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace secret_text

}  // namespace tracer::internal
