// SPDX-License-Identifier: Apache-2.0
/// What words of a command say about others: who logs in gives a password, too; a name tells what its value is.
#include <algorithm>

#include "base/text.hpp"
#include "rules/secrets/secret_scan.hpp"

namespace tracer::internal {

using namespace secret_text;

namespace {

bool is_user(std::string_view word) {
  if (secret_values::is_variable(word, secret_values::Place::kScript)) return true;
  const auto dot = word.rfind('.');
  // "tool.py": the option before it was a flag.
  if (dot != kNone && word.size() - dot <= 4 && word.find('@') == kNone) return false;
  return !word.empty() && !is_digit(word[0]) &&
         std::all_of(word.begin(), word.end(), [](char c) { return is_name(c) || c == '@' || c == '\\' || c == '+'; });
}

std::string_view last_part(std::string_view word) { return word.substr(word.find_last_of("/:") + 1); }

}  // namespace

bool SecretScan::pair_option(Command& command, std::string_view name, const Token& token, std::size_t value_begin) {
  if (rules_.pair_users_.contains(name)) {
    // "-u me:x"; a user and a group of a program that runs others are none.
    const Value how{.need = Need::kWord, .after = command.wrapped ? std::string_view() : ":"};
    if (value_begin == 0) {
      command.user_next = true;
      if (!command.wrapped) expect(how);
    } else {
      command.user = true;
      if (!command.wrapped) set_value(value_begin, token, how);
    }
    return true;
  }
  if (rules_.pair_names_.contains(name)) {
    if (value_begin == 0) {
      command.name_next = true;
    } else {
      command.named = rules_.need_of(last_part(text_.substr(value_begin, token.end - value_begin)));
    }
    return false;
  }
  const bool password = command.user && rules_.pair_passwords_.contains(name);
  const bool given = command.named > Need::kHinted && rules_.pair_values_.contains(name);
  if (!password && !given) return false;
  const Value how{.need = password ? Need::kText : Need::kNotPlain};
  if (value_begin == 0) {
    expect(how);
  } else {
    set_value(value_begin, token, how);
  }
  return true;
}

void SecretScan::joined_password(Command& command, std::string_view word, const Token& token) {
  if (!command.user) return;
  for (const std::string& password : rules_.pair_passwords_) {
    if (word.size() < password.size() + 4 || !word.starts_with(password)) continue;
    const std::string_view value = word.substr(password.size());
    bool plain = value.find('=') != kNone;
    for_each_option(command,
                    [&](const Option& option, std::uint8_t) { plain = plain || is_any_of(option.plain, password); });
    if (!plain) set_value(token.begin + password.size(), token, {Need::kWord});
  }
}

void SecretScan::named_word(std::string_view word) {
  const auto blank = word.find(' ');
  if (blank == kNone || blank > kMaxName || word.find(' ', blank + 1) != kNone || word.find('\n') != kNone) return;
  const std::string_view name = word.substr(0, blank);
  const bool compound = name.find_first_of("_-.") != kNone;
  if (compound && std::all_of(name.begin(), name.end(), is_name) && rules_.need_of(name) > Need::kText) {
    add_if(blank + 1, word.size(), Need::kWord);
  }
}

void SecretScan::pair_argument(Command& command, std::string_view word, bool behind_option) {
  if (command.name_next || (command.started && !behind_option)) {
    const Need need = word == "secret" || word == "secrets" ? Need::kNotPlain : rules_.need_of(last_part(word));
    command.named = std::max(command.named, need);
  }
  command.name_next = false;
  if (command.user_next) {
    command.user = is_user(word);
  } else if (command.wrapped) {
    // The user was that of the program before, as in "sudo -u me mkdir -p x".
    command.user = false;
  }
  command.user_next = false;
  if (command.started && rules_.pair_logins_.contains(word)) command.user = true;
  command.reads = command.reads || reads_secret(word) || (command.tees && is_secret_file(word));
}

bool SecretScan::is_printed(std::string_view name) const {
  if (name.size() < 6 || name.size() > kMaxName || (lower(name.back()) != 'd' && lower(name.back()) != 'l'))
    return false;
  const std::string small = lower(name);
  for (const std::string_view end : {"command", "cmd", "eval"}) {
    if (small.ends_with(end)) return rules_.need_of(name.substr(0, name.size() - end.size())) > Need::kHinted;
  }
  return false;
}

void SecretScan::printed(std::size_t begin, std::size_t end) {
  const auto word_end = [&] { return std::min(text_.substr(0, end).find(' ', begin), end); };
  const std::string_view program = base_name(text_.substr(begin, word_end() - begin));
  if (program != "echo" && program != "printf") return;
  begin = word_end();
  const auto strip = [&] {
    while (begin < end && (text_[begin] == ' ' || is_quote(text_[begin]) || text_[begin] == '\\')) ++begin;
  };
  strip();
  while (begin < end && (text_[begin] == '-' || text_[begin] == '%')) {
    begin = word_end();
    strip();
  }
  while (end > begin && (is_space(text_[end - 1]) || is_quote(text_[end - 1]) || text_[end - 1] == '\\')) --end;
  add_if(begin, end, Need::kNotPlain);
}

bool SecretScan::reads_secret(std::string_view word) const {
  const auto at = word.substr(0, kMaxName).find("stdin");
  return at != kNone && rules_.need_of(word.substr(0, at)) > Need::kHinted;
}

bool SecretScan::is_secret_file(std::string_view path) const {
  std::string_view name = base_name(path);
  if (const auto dot = name.rfind('.'); dot != kNone && dot != 0) name = name.substr(0, dot);
  return rules_.need_of(name) > Need::kHinted;
}

void SecretScan::written(std::size_t sign) {
  std::size_t from = sign;
  while (from < text_.size() && (text_[from] == '>' || text_[from] == ' ')) ++from;
  std::size_t to = from;
  while (to < text_.size() && to - from < kMaxName && !is_space(text_[to]) && !is_quote(text_[to])) ++to;
  if (!is_secret_file(text_.substr(from, to - from))) return;
  std::size_t begin = piped_begin_, end = sign;
  const auto strip = [&] {
    while (begin < end && (is_space(text_[begin]) || is_quote(text_[begin]))) ++begin;
    while (end > begin && (is_space(text_[end - 1]) || is_quote(text_[end - 1]))) --end;
  };
  strip();
  while (begin < end && text_[begin] == '-') {
    while (begin < end && !is_space(text_[begin])) ++begin;
    strip();
  }
  const std::string_view text = text_.substr(begin, end - begin);
  // Of "host:5432:db:me:x" the last part is the password; a text of several words is no secret.
  if (text.find(' ') != kNone) return;
  if (const auto colon = text.rfind(':'); colon != kNone) begin += colon + 1;
  add_if(begin, end, Need::kWord);
}

}  // namespace tracer::internal
