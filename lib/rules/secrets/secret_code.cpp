// SPDX-License-Identifier: Apache-2.0
/// Secrets in programs, files and SQL that are arguments.
#include <algorithm>
#include <string>

#include "rules/secrets/secret_finder.hpp"

namespace tracer::internal {

using namespace secret_text;

namespace {

/// How many blanks may be around a sign; a bound keeps looking back linear.
constexpr std::size_t kBlanks = 16;
/// How long the arguments of a call may be.
constexpr std::size_t kCall = 512;
/// How long what is between two tags may be.
constexpr std::size_t kTag = 4096;

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
  Need named = Need::kNever;
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
    if (!name.apart && is_label(name.begin)) continue;
    const std::string_view word = text_.substr(name.begin, name.end - name.begin);
    Need need = rules_.need_of(word);
    if (!colon && word.ends_with("key") &&
        lower(text_.substr(name.begin - std::min<std::size_t>(name.begin, 7), 7)) == "pragma ") {
      need = Need::kNotPlain;
    }
    // <property name="password" value="x"/>
    // "name: DB_PASSWORD", "value: x" of YAML
    if (word == "value") need = std::max(need, named);
    if (word == "name" || word == "key") {
      std::size_t begin = from;
      while (begin < text_.size() && (is_blank(text_[begin]) || is_quote(text_[begin]))) ++begin;
      std::size_t close = begin;
      while (close < text_.size() && close - begin < kMaxName && is_name(text_[close])) ++close;
      named = rules_.need_of(text_.substr(begin, close - begin));
    }
    // curl's "user = me:x"
    if (!colon && (word == "user" || word == "userpwd")) {
      std::size_t value = from;
      while (value < text_.size() && is_blank(text_[value])) ++value;
      std::size_t close = value + (value < text_.size() && is_quote(text_[value]) ? 1 : 0);
      while (close < text_.size() && is_name(text_[close])) ++close;
      if (close + 1 < text_.size() && text_[close] == ':' && close > value && text_[close + 1] != ':' &&
          !is_space(text_[close + 1])) {
        add_if(close + 1, std::min(text_.find_first_of("\"' \n,)", close), text_.size()), Need::kWord);
      }
    }
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
        (colon || !apart) && !name.quoted && begin >= 2 && name.begin > 0 && text_[name.begin - 1] == text_[begin - 1];
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
    // "${PASSWORD:?not set}"
    if (before == '{' && line > 1 && text_[line - 2] == '$') return;
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
  if (need > Need::kHinted && is_code(value)) return;
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
  if (std::all_of(word.begin(), word.end(), [](char c) { return is_upper(c) || c == '_'; })) {
    return rules_.need_of(word) > Need::kHinted || name == "credentials";
  }
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
    if (end == blanks || end == 0) continue;
    // '["db"]["password"] "x"'
    const Name name = name_before(end);
    const bool member = text_[end - 1] == ']' && name.quoted &&
                        rules_.need_of(text_.substr(name.begin, name.end - name.begin)) > Need::kHinted;
    if (!member && !is_sql_phrase(end)) continue;
    const auto [from, to] = quoted_text(at);
    if (from != 0) add_if(from, to, Need::kAny);
    at = std::max(at, to);
  }
  // Oracle: IDENTIFIED BY tiger
  const std::string text = lower(text_);
  const bool sql = text.find("user ") != kNone || text.find("grant ") != kNone || text.find("role ") != kNone;
  constexpr std::string_view kBy = "identified by ";
  for (auto at = sql ? text.find(kBy) : kNone; at != kNone; at = text.find(kBy, at + 1)) {
    const std::size_t from = at + kBy.size();
    const std::size_t to = std::min(text.find_first_of(" \n\t;\"'", from), text.size());
    if (text.substr(from, to - from) != "values") add_if(from, to, Need::kAny);
  }
}

std::vector<SecretFinder::Argument> SecretFinder::quoted_arguments(std::size_t at) const {
  std::vector<Argument> arguments;
  const std::size_t limit = std::min(text_.size(), at + kCall);
  for (std::size_t position = 0; at < limit && position < 6; ++position) {
    const auto [begin, end] = quoted_text(at);
    if (begin != 0) arguments.push_back({begin, end, position});
    // What is behind a text up to the next comma, or an argument that is none: no call, no name.
    while (at < limit && text_[at] != ',' && text_[at] != ')' && text_[at] != '=' && text_[at] != '(') ++at;
    if (at >= limit || text_[at] != ',') break;
    ++at;
  }
  return arguments;
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
    const auto arguments = quoted_arguments(open + 1);
    if (arguments.empty()) continue;
    covered_ = arguments.front().end;
    call(text_.substr(begin, end - begin), arguments);
  }
}

void SecretFinder::call(std::string_view name, const std::vector<Argument>& arguments) {
  const auto text = [&](std::size_t i) {
    return text_.substr(arguments[i].begin, arguments[i].end - arguments[i].begin);
  };
  const auto mask = [&](std::size_t i, Need need) { add_if(arguments[i].begin, arguments[i].end, need); };
  const std::size_t count = arguments.size();
  const Need need = rules_.need_of(name);
  if (const auto dot = name.rfind('.'); dot != kNone) name.remove_prefix(dot + 1);
  const std::string function = lower(name);
  const std::string_view first = text(0);
  if (count >= 2) {
    std::string scheme = lower(first.substr(0, 32));
    while (scheme.ends_with(' ')) scheme.pop_back();
    if (scheme == "bearer" || scheme == "basic") return mask(1, Need::kNotPlain);
    // "Client('https://h', 'x')"
    if (first.find("://") != kNone) mask(1, Need::kRandom);
    // "Client('https://h', 'me', 'x')"
    for (std::size_t i = 0; i + 2 < count; ++i) {
      if (text(i).find("://") != kNone) mask(i + 2, Need::kWord);
    }
    // "Credentials.new('id', 'x')"
    if (need != Need::kNever) mask(1, Need::kRandom);
  }
  if (rules_.calls_.contains(function) || function.ends_with("login")) {
    for (std::size_t i = 0; i < count; ++i) {
      if (arguments[i].position == 1) mask(i, Need::kNotPlain);
    }
    return;
  }
  if (function.starts_with("send")) {
    // pexpect: "expect('assword:'); sendline('x')"
    const std::size_t at = arguments[0].begin;
    const std::string before = lower(text_.substr(at > 96 ? at - 96 : 0, std::min<std::size_t>(at, 96)));
    if (before.find("assword") != kNone || before.find("assphrase") != kNone) return mask(0, Need::kNotPlain);
  }
  // Of LWP: credentials('h:443', 'realm', 'me', 'x')
  if (function == "credentials" && count == 4) return mask(3, Need::kNotPlain);
  const auto ends = [&](const std::string& end) { return function.ends_with(end); };
  if (std::any_of(rules_.connects_.begin(), rules_.connects_.end(), ends)) {
    const std::string start = lower(first.substr(0, 8));
    const auto is_place = [&](std::size_t i) {
      return text(i).substr(0, text(i).find(kCut)).find_first_of("/:") != kNone;
    };
    for (const std::string_view driver : {"dbi:", "jdbc:", "mysql:", "pgsql:"}) {
      if (start.starts_with(driver) && count >= 3) return mask(2, Need::kNotPlain);
    }
    // "connect('host', 'me', 'x')", but "connect('me', 'x', 'host:1521/db')".
    if (count >= 3) return is_place(2) ? mask(1, Need::kText) : mask(2, Need::kText);
    if (count == 2 && !is_place(1) && text(1).find('.') == kNone) mask(1, Need::kWord);
    return;
  }
  const auto begins = [&](const std::string& setter) { return function.starts_with(setter); };
  if (!std::any_of(rules_.setters_.begin(), rules_.setters_.end(), begins)) return;
  // "setenv('TOKEN', 'x')": the first argument names the second one.
  if (count >= 2 && rules_.need_of(first) > Need::kHinted) return mask(1, rules_.need_of(first));
  // "set_password('service', 'me', 'x')"
  if (need != Need::kNever) mask(std::min<std::size_t>(count, 3) - 1, need);
}

void SecretFinder::substitutions() {
  for (auto at = text_.find('s'); at != kNone; at = text_.find('s', at + 1)) {
    if (at + 1 >= text_.size() || std::string_view("/|#,@").find(text_[at + 1]) == kNone) continue;
    if (at > 0 && !is_space(text_[at - 1]) && !is_quote(text_[at - 1]) && text_[at - 1] != ';') continue;
    const std::size_t first = at + 2;
    const std::string_view near = text_.substr(0, at + kCall);
    const std::size_t middle = near.find(text_[at + 1], first);
    const std::size_t last = middle == kNone ? kNone : near.find(text_[at + 1], middle + 1);
    if (last == kNone) continue;
    const std::string_view pattern = text_.substr(first, middle - first);
    bool secret = false;
    for (std::size_t begin = 0; begin < pattern.size() && !secret;) {
      std::size_t end = begin;
      while (end < pattern.size() && is_name(pattern[end])) ++end;
      secret = rules_.need_of(pattern.substr(begin, end - begin)) > Need::kHinted;
      begin = end + 1;
    }
    if (!secret) continue;
    // "\\1XXX" hides one, "REDACTED", too.
    const std::string_view by = text_.substr(middle + 1, last - middle - 1);
    if (by.find_first_of("\\&") != kNone || std::none_of(by.begin(), by.end(), is_lower)) continue;
    // "password=x": what is behind the sign.
    std::size_t from = middle + 1;
    if (const auto sign = text_.substr(from, last - from).find_last_of("=: \"'"); sign != kNone) from += sign + 1;
    add_if(from, last, Need::kWord);
  }
}

void SecretFinder::tags() {
  for (auto at = text_.find('>'); at != kNone; at = text_.find('>', at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && at - begin < kMaxName && is_name(text_[begin - 1])) --begin;
    if (begin == 0 || begin == at || (text_[begin - 1] != '<' && text_[begin - 1] != ':')) continue;
    // A bound keeps it linear.
    const std::string_view near = text_.substr(0, at + kTag);
    const std::size_t end = std::min(near.find('<', at), near.size());
    if (end == near.size() && end != text_.size()) continue;
    if (end != text_.size() && text_.substr(end, 2) != "</") continue;
    const Need need = rules_.need_of(text_.substr(begin, at - begin));
    if (need > Need::kHinted) add_if(at + 1, end, need);
  }
}

}  // namespace tracer::internal
