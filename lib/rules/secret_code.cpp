// SPDX-License-Identifier: Apache-2.0
/// Secrets in programs, files and SQL that are arguments.
#include <algorithm>
#include <string>
#include <tuple>

#include "rules/secret_finder.hpp"

namespace tracer::internal {

using namespace secret_text;

namespace {

/// How many blanks may be around a sign; a bound keeps looking back linear.
constexpr std::size_t kBlanks = 16;

bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// "getpass.getpass()", "args.token", "a[1]": what a program would look up.
bool is_code(std::string_view value) {
  if (value.find_first_of("([{<>\\`$") != kNone) return true;
  return std::all_of(value.begin(), value.end(),
                     [](char c) { return is_alnum(c) || c == '_' || c == '.' || c == ':'; }) &&
         !std::any_of(value.begin(), value.end(), is_digit);
}

}  // namespace

SecretFinder::Name SecretFinder::name_before(std::size_t end) const {
  Name name;
  const std::size_t sign = end;
  while (end > 0 && sign - end < kBlanks && is_blank(text_[end - 1])) --end;
  if (end > 0 && (text_[end - 1] == ']' || text_[end - 1] == '}')) --end;
  name.apart = end != sign;
  if (end > 0 && is_quote(text_[end - 1])) {
    name.quoted = true;
    --end;
    if (end > 0 && text_[end - 1] == '\\') --end;
  }
  name.begin = name.end = end;
  while (name.begin > 0 && end - name.begin < kMaxName && is_name(text_[name.begin - 1])) --name.begin;
  return name;
}

std::pair<std::size_t, std::size_t> SecretFinder::quoted_text(std::size_t& at) const {
  while (at < text_.size() && is_space(text_[at])) ++at;
  if (at + 1 < text_.size() && is_quote(text_[at + 1]) && (text_[at] == '\\' || is_lower(text_[at]))) ++at;
  if (at >= text_.size() || !is_quote(text_[at])) return {0, 0};
  const std::size_t begin = at + 1;
  std::size_t end = std::min(text_.find(text_[at], begin), text_.size());
  at = end + 1;
  if (end > begin && text_[end - 1] == '\\') --end;
  return {begin, end};
}

void SecretFinder::assignments() {
  covered_ = 0;
  for (auto at = text_.find_first_of("=:"); at != kNone; at = text_.find_first_of("=:", at + 1)) {
    const bool colon = text_[at] == ':';
    if (at < covered_ || at + 1 >= text_.size() || (at > 0 && std::string_view("=!<>~").find(text_[at - 1]) != kNone))
      continue;
    std::size_t from = at + 1, end = at;
    if (text_[from] == '=') {
      if (!colon) continue;
      ++from;
    } else if (!colon && text_[from] == '>') {
      ++from;
    }
    const Name name = name_before(end);
    if (name.begin == name.end) continue;
    const Need need = rules_.need_of(text_.substr(name.begin, name.end - name.begin));
    if (need != Need::kNever) assigned(name, from, colon, need);
  }
}

void SecretFinder::assigned(const Name& name, std::size_t from, bool colon, Need need) {
  const std::size_t sign = from;
  while (from < text_.size() && from - sign < kBlanks && is_blank(text_[from])) ++from;
  if (from >= text_.size() || text_[from] == '\n') return;
  const bool apart = name.apart || from != sign;
  std::size_t at = from;
  if (const auto [begin, end] = quoted_text(at); begin != 0) {
    // The quote of "read -p 'Password: '" ends what has begun before.
    const bool closes =
        colon && !name.quoted && begin >= 2 && name.begin > 0 && text_[name.begin - 1] == text_[begin - 1];
    const bool compares = need == Need::kText && name.apart && !colon && name.begin >= 2 &&
                          is_blank(text_[name.begin - 1]) &&
                          std::string_view("eEdDrR").find(text_[name.begin - 2]) != kNone;
    if (closes || compares || begin < covered_) return;
    covered_ = end;
    add_if(begin, end, need);
    return;
  }
  std::size_t end = from;
  while (end < text_.size() && !is_space(text_[end]) && std::string_view(",;)}]\"'").find(text_[end]) == kNone) ++end;
  const std::string_view value = text_.substr(from, end - from);
  if (colon) {
    // Of YAML: a line, or a member of "{a: b}".
    std::size_t line = name.begin;
    while (line > 0 && name.begin - line < kBlanks * 4 && (is_blank(text_[line - 1]) || text_[line - 1] == '-')) --line;
    const char before = line == 0 ? '\n' : text_[line - 1];
    const bool member = before == '{' || before == ',';
    if (before != '\n' && !member) return;
    if (!member) {
      end = std::min(text_.find('\n', from), text_.size());
      const std::string_view rest = text_.substr(from, end - from);
      // Of a text that is no YAML, a line may begin with "password:".
      if (rest.find(' ') != kNone && line == 0) return;
      if (!is_code(rest)) add_if(from, end, need);
      covered_ = end;
      return;
    }
  } else if (!apart) {
    return;
  }
  if (need > Need::kRandom && is_code(value)) return;
  add_if(from, end, need);
  covered_ = end;
}

bool SecretFinder::is_sql_phrase(std::size_t end) const {
  std::size_t begin = end;
  while (begin > 0 && end - begin < kMaxName && is_name(text_[begin - 1])) --begin;
  const std::string_view word = text_.substr(begin, end - begin);
  const std::string before = lower(text_.substr(begin > 96 ? begin - 96 : 0, std::min<std::size_t>(begin, 96)));
  const std::string name = lower(word);
  // expect "assword:"; send "x\r"
  if (name == "send" || name == "--") return before.find("assword") != kNone || before.find("assphrase") != kNone;
  if (name == "by") return before.find("identified") != kNone;
  if (name != "password" && name != "secret" && name != "credentials" && name != "passphrase") return false;
  return word[0] == 'P' || word[0] == 'S' || word[0] == 'C' || before.find("user ") != kNone ||
         before.find("role ") != kNone;
}

void SecretFinder::phrases() {
  for (auto at = text_.find_first_of("'\""); at != kNone; at = text_.find_first_of("'\"", at + 1)) {
    std::size_t end = at;
    if (end > 0 && text_[end - 1] == '\\') --end;
    const std::size_t blanks = end;
    while (end > 0 && blanks - end < kBlanks && (is_space(text_[end - 1]) || text_[end - 1] == '(')) --end;
    if (end == blanks || !is_sql_phrase(end)) continue;
    const auto [from, to] = quoted_text(at);
    if (from != 0) add_if(from, to, Need::kAny);
    at = std::max(at, to);
  }
  // Oracle: IDENTIFIED BY tiger
  const std::string text = lower(text_);
  constexpr std::string_view kBy = "identified by ";
  for (auto at = text.find(kBy); at != kNone; at = text.find(kBy, at + 1)) {
    const std::size_t from = at + kBy.size();
    const std::size_t to = std::min(text.find_first_of(" \n\t;\"'", from), text.size());
    if (text.substr(from, to - from) != "values") add_if(from, to, Need::kAny);
  }
}

void SecretFinder::calls() {
  covered_ = 0;
  for (auto open = text_.find('('); open != kNone; open = text_.find('(', open + 1)) {
    if (open < covered_) continue;
    std::size_t end = open;
    while (end > 0 && open - end < kBlanks && (is_blank(text_[end - 1]) || text_[end - 1] == '=')) --end;
    std::size_t begin = end;
    while (begin > 0 && end - begin < kMaxName && is_name(text_[begin - 1])) --begin;
    if (begin == end) continue;
    std::string_view name = text_.substr(begin, end - begin);
    Need need = rules_.need_of(name);
    if (const auto dot = name.rfind('.'); dot != kNone) name.remove_prefix(dot + 1);
    const std::string function = lower(name);
    const bool sets = std::any_of(rules_.setters_.begin(), rules_.setters_.end(),
                                  [&](const std::string& setter) { return function.starts_with(setter); });
    const bool connects = function.ends_with("connect") || function.ends_with("connection") || function == "pdo";
    bool second = rules_.calls_.contains(function);
    if (!second && !sets && !connects) continue;
    std::size_t at = open + 1;
    auto [from, to] = quoted_text(at);
    if (from == 0) continue;
    covered_ = to;
    const std::string_view first = text_.substr(from, to - from);
    // "setenv('TOKEN', 'x')": the first argument names the second one.
    const Need named = sets ? rules_.need_of(first) : Need::kNever;
    const bool dsn =
        connects && (first.starts_with("dbi:") || first.starts_with("DBI:") || first.starts_with("jdbc:") ||
                     first.starts_with("mysql:") || first.starts_with("pgsql:"));
    second = second || named > Need::kRandom;
    if (named > Need::kRandom) need = named;
    if (!second && !dsn && need == Need::kNever) continue;
    if (connects && !dsn) continue;
    for (int skip = dsn ? 2 : second ? 1 : 0; skip > 0 && from != 0; --skip) {
      while (at < text_.size() && is_blank(text_[at])) ++at;
      from = 0;
      if (at >= text_.size() || text_[at] != ',') break;
      ++at;
      std::tie(from, to) = quoted_text(at);
      if (from != 0) covered_ = to;
    }
    if (from != 0) add_if(from, to, second || dsn ? Need::kNotPlain : need);
  }
}

}  // namespace tracer::internal
