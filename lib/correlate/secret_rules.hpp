// SPDX-License-Identifier: Apache-2.0
/// Masks passwords, tokens and keys in command lines before they are stored or shown.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tracer {

/// An example that a rule carries, so that the rules test themselves.
struct SecretExample {
  std::string rule;  ///< The kind of the rule and its line, such as "option:12".
  std::vector<std::string> argv;
  std::vector<std::string> masked;  ///< What mask() must make of argv; empty where the rule has no example at all.
};

/// Immutable after parse(), so any number of threads may call mask().
class SecretRules {
 public:
  /// Throws Error(kInvalidRules) that names origin, line and the mistake, for all mistakes at once.
  static SecretRules parse(std::string_view toml, std::string_view origin);
  /// Throws Error(kFileUnreadable) with errno when the file can't be read, otherwise as parse().
  static SecretRules load(const std::filesystem::path& file);
  /// The rules that are built into the library (rules/secrets.toml); parsed once.
  static const SecretRules& builtin();

  /// Masks secrets in place, each with "***"; returns how many were masked. Linear time on hostile input.
  std::size_t mask(std::vector<std::string>& argv) const;

  /// The examples of all rules; a rule without any has one whose `masked` is empty.
  const std::vector<SecretExample>& examples() const noexcept { return examples_; }

 private:
  friend class SecretRulesReader;
  friend class SecretFinder;
  friend class SecretScan;

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };
  using Names = std::unordered_set<std::string, Hash, std::equal_to<>>;

  /// Options of certain programs; the bit in a 64-bit mask is the index.
  struct Option {
    std::string subcommand;           ///< Must have been seen, if not empty.
    std::vector<std::string> names;   ///< The value is in the same word after '=' or in the next word.
    std::vector<std::string> joined;  ///< The value follows in the same word at once.
    std::string after;                ///< Only what follows the first of these characters is secret, if not empty.
  };
  struct Shape {
    std::string prefix;
    std::size_t min = 0;   ///< How many characters must follow the prefix.
    std::string contains;  ///< Must be inside, if not empty, unless the end is cut.
    std::array<bool, 256> set{};
  };

  bool is_secret_name(std::string_view name) const;

  std::vector<Option> options_;
  std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>> programs_;
  Names wrappers_, shells_;
  Names parts_, except_last_, except_first_;
  Names parameters_, headers_, schemes_, plain_urls_;
  std::vector<Shape> shapes_;
  std::vector<SecretExample> examples_;
};

/// What only the implementation needs; it is here to keep each file short.
namespace secret_text {

inline constexpr auto kNone = std::string_view::npos;
inline constexpr std::string_view kMask = "***";
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

}  // namespace secret_text

/// Finds the secrets that are known by themselves, wherever they are in a text; only SecretRules uses it.
class SecretFinder {
 public:
  SecretFinder(const SecretRules& rules, std::size_t total)
      : rules_(rules), maybe_cut_(total >= secret_text::kMaybeCut) {}

 protected:
  void find() {
    colons();
    parameters();
    urls();
    shapes();
    pem();
  }

  void add(std::size_t begin, std::size_t end) {
    if (begin < end && text_.substr(begin, end - begin) != secret_text::kMask) ranges_.emplace_back(begin, end);
  }

  /// Puts the mask in place of all ranges; ranges that touch are one secret.
  std::size_t replace(std::string& text) {
    if (ranges_.empty()) return 0;
    std::sort(ranges_.begin(), ranges_.end());
    std::string masked;
    std::size_t count = 0, done = 0;
    for (std::size_t i = 0; i < ranges_.size();) {
      auto [begin, end] = ranges_[i];
      for (++i; i < ranges_.size() && ranges_[i].first <= end; ++i) end = std::max(end, ranges_[i].second);
      masked.append(text, done, begin - done).append(secret_text::kMask);
      done = end;
      ++count;
    }
    masked.append(text, done);
    text = std::move(masked);
    return count;
  }

  const SecretRules& rules_;
  bool maybe_cut_;
  std::string_view text_;
  std::size_t covered_ = 0;
  std::vector<std::pair<std::size_t, std::size_t>> ranges_;

 private:
  /// Headers ("Authorization: Bearer x") and members of objects ("password": "x").
  void colons() {
    using namespace secret_text;
    covered_ = 0;
    for (auto colon = text_.find(':'); colon != kNone; colon = text_.find(':', colon + 1)) {
      std::size_t end = colon;
      while (end > 0 && colon - end < 4 && is_space(text_[end - 1])) --end;
      bool quoted = false;
      if (end > 0 && is_quote(text_[end - 1])) {
        quoted = true;
        --end;
        if (end > 0 && text_[end - 1] == '\\') --end;
      }
      std::size_t begin = end;
      while (begin > 0 && end - begin < kMaxName && is_name(text_[begin - 1])) --begin;
      std::string name = lower(text_.substr(begin, end - begin));
      const bool attached = name.starts_with("-h");
      if (attached) name.erase(0, 2);
      const bool header = rules_.headers_.contains(name) || (name.starts_with("x-") && rules_.is_secret_name(name));
      if (!header && !(quoted && rules_.is_secret_name(text_.substr(begin, end - begin)))) continue;
      std::size_t from = colon + 1;
      while (from < text_.size() && (is_space(text_[from]) || text_[from] == '\\')) ++from;
      if (from < covered_ || from >= text_.size()) continue;
      const char around = begin > 0 && is_quote(text_[begin - 1]) && !quoted ? text_[begin - 1] : '\0';
      char stop = around;
      if (is_quote(text_[from])) stop = text_[from++];
      std::size_t to = from;
      while (to < text_.size() && text_[to] != '\n' && !(stop != 0 && text_[to] == stop)) {
        // Numbers and the like end with their member.
        if (stop == 0 && quoted && (text_[to] == ',' || text_[to] == '}')) break;
        ++to;
      }
      covered_ = to;
      if (header) {
        std::size_t scheme = from;
        while (scheme < to && scheme - from < 32 && is_name(text_[scheme])) ++scheme;
        if (scheme < to && text_[scheme] == ' ' && rules_.schemes_.contains(lower(text_.substr(from, scheme - from)))) {
          from = scheme + 1;
        }
      }
      if (to > from && text_[to - 1] == '\\') --to;
      add(from, to);
    }
  }

  void parameters() {
    using namespace secret_text;
    for (std::size_t at = text_.find_first_of("?&"); at != kNone; at = text_.find_first_of("?&", at + 1)) {
      std::size_t end = at + 1;
      while (end < text_.size() && end - at <= kMaxName && is_name(text_[end])) ++end;
      if (end >= text_.size() || text_[end] != '=') continue;
      const std::string_view name = text_.substr(at + 1, end - at - 1);
      if (!rules_.parameters_.contains(lower(name)) && !rules_.is_secret_name(name)) continue;
      std::size_t to = end + 1;
      const auto ends = [](char c) { return c == '&' || c == '#' || is_space(c) || is_quote(c); };
      while (to < text_.size() && !ends(text_[to])) {
        ++to;
      }
      add(end + 1, to);
      // A '?' inside of a value begins nothing.
      at = to - 1;
    }
  }

  void urls() {
    using namespace secret_text;
    std::size_t chunk_end = 0, last_at = kNone;
    for (auto mark = text_.find("://"); mark != kNone; mark = text_.find("://", mark + 3)) {
      std::size_t scheme = mark;
      while (scheme > 0 && mark - scheme < 32 && (is_alnum(text_[scheme - 1]) || text_[scheme - 1] == '-')) --scheme;
      if (rules_.plain_urls_.contains(lower(text_.substr(scheme, mark - scheme)))) continue;
      const std::size_t begin = mark + 3;
      if (begin >= chunk_end) {
        chunk_end = begin;
        while (chunk_end < text_.size() && !is_space(text_[chunk_end])) ++chunk_end;
        last_at = text_.substr(0, chunk_end).rfind('@');
      }
      const std::size_t end = std::min(text_.substr(0, chunk_end).find_first_of("/?#\"'<>,", begin), chunk_end);
      const std::string_view authority = text_.substr(begin, end - begin);
      const auto colon = authority.find(':');
      if (colon == kNone || authority.starts_with('[')) continue;
      if (const auto at = authority.rfind('@'); at != kNone) {
        if (at > colon) add(begin + colon + 1, begin + at);
        continue;
      }
      const std::string_view port = authority.substr(colon + 1);
      if (port.empty() || std::all_of(port.begin(), port.end(), is_digit) || port[0] == '$' || port[0] == '{') continue;
      // No port: a password with a '/' in it, or one whose '@' has been cut off.
      const std::size_t from = begin + colon + 1;
      if (last_at != kNone && last_at > from) {
        add(from, last_at);
      } else if (chunk_end == text_.size()) {
        add(from, chunk_end);
      }
    }
  }

  void shapes() {
    using namespace secret_text;
    std::vector<std::size_t> tried(rules_.shapes_.size(), 0);
    for (std::size_t at = 0; at < text_.size(); ++at) {
      const bool inside = at > 0 && (is_alnum(text_[at - 1]) || text_[at - 1] == '_');
      if (inside && !(at >= 3 && text_[at - 3] == '%')) continue;
      for (std::size_t i = 0; i < tried.size(); ++i) {
        const SecretRules::Shape& shape = rules_.shapes_[i];
        // What ran to here from an earlier start is longer and was no token, so this is none either.
        if (at < tried[i] || !text_.substr(at).starts_with(shape.prefix)) continue;
        const std::size_t from = at + shape.prefix.size();
        std::size_t to = from;
        while (to < text_.size() && shape.set[static_cast<unsigned char>(text_[to])]) ++to;
        tried[i] = to;
        const bool at_end = to == text_.size();
        const std::size_t min = maybe_cut_ && at_end && shape.prefix.size() >= 4 ? 1 : shape.min;
        if (to - from < min) continue;
        const bool contains = text_.substr(from, to - from).find(shape.contains) != kNone;
        if (contains || at_end) add(at, to);
      }
    }
  }

  void pem() {
    using namespace secret_text;
    constexpr std::string_view kPrivate = "PRIVATE KEY-----";
    for (auto at = text_.find(kPrivate); at != kNone; at = text_.find(kPrivate, at + 1)) {
      const auto marker = text_.substr(at > 64 ? at - 64 : 0, std::min<std::size_t>(at, 64));
      const auto begin = marker.rfind("-----BEGIN ");
      const auto end = marker.rfind("-----END ");
      if (begin != kNone && (end == kNone || begin > end)) {
        add(at - marker.size() + begin, text_.size());
        return;
      }
      // The beginning has been cut off.
      if (end != kNone) add(0, at + kPrivate.size());
    }
  }
};

}  // namespace tracer
