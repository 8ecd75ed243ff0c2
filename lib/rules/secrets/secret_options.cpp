// SPDX-License-Identifier: Apache-2.0
/// Options of certain programs, and the words of a script.
#include <algorithm>

#include "rules/secrets/secret_scan.hpp"

namespace tracer::internal {

using namespace secret_text;

namespace {

bool is_word(char c) { return !is_space(c) && std::string_view("\"';|()`\\{},").find(c) == kNone; }

/// "8080:80": a port of a container.
bool is_ports(std::string_view text) {
  return text.find(':') != kNone &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || c == ':'; });
}

}  // namespace

bool SecretScan::program_option(Command& command, std::string_view name, const Token& token, std::size_t value_begin) {
  bool known = false;
  const std::string_view word = text_.substr(token.begin, token.end - token.begin);
  for_each_option(command, [&](const Option& option, std::uint8_t progress) {
    if (!is_active(option, progress)) return;
    if (is_any_of(option.plain, name)) {
      known = true;
      return;
    }
    const bool named = is_any_of(option.names, name) || (option.assigned && value_begin != 0 && !name.starts_with('-'));
    if (option.stdin_secret) {
      command.reads = command.reads || named;
      return;
    }
    if (named) {
      known = true;
      Value how{Need::kAny, option.after, option.before};
      if (!option.after.empty())
        how.otherwise = rules_.need_of(name.substr(std::min(name.find_first_not_of('-'), name.size())));
      if (value_begin != 0) {
        set_value(value_begin, token, how);
      } else {
        expect(how);
      }
    } else if (!option.flags.empty() && value_begin == 0) {
      clustered_option(option, word, token);
    }
  });
  if (command.reads) mask_piped();
  return known;
}

void SecretScan::clustered_option(const Option& option, std::string_view word, const Token& token) {
  if (word.size() < 3 || word[1] == '-') return;
  std::size_t at = 1;
  while (at < word.size() && option.flags.find(word[at]) != kNone) ++at;
  if (at == 1 || at == word.size()) return;
  const char key[] = {'-', word[at], '\0'};
  const Value how{Need::kAny, option.after, option.before};
  if (at + 1 == word.size()) {
    if (is_any_of(option.names, key)) expect(how);
  } else if (is_any_of(option.joined, key)) {
    set_value(token.begin + at + 1, token, how);
  }
}

bool SecretScan::joined_option(Command& command, std::string_view word, const Token& token) {
  bool known = false;
  for_each_option(command, [&](const Option& option, std::uint8_t progress) {
    if (option.joined.empty() || !is_active(option, progress)) return;
    bool hit = false;
    for (const std::string& key : option.joined) {
      // In a script, a value in quotes begins where the word ends: -p"a b".
      const bool quoted = !token.whole && token.end < text_.size() &&
                          (is_quote(text_[token.end]) ? text_[token.end] != token.open : text_[token.end] == '\\');
      if (!word.starts_with(key) || (word.size() == key.size() && !quoted) || is_ports(word.substr(key.size())))
        continue;
      // "-p=x" is "-p" and its value for some.
      set_value(token.begin + key.size(), token, {Need::kAny, option.after, option.before});
      hit = known = true;
    }
    // Other values of options end with letters of it.
    if (!hit && !option.flags.empty() && word[0] == '-' &&
        std::any_of(word.begin(), word.end(), [](char c) { return !is_name(c); })) {
      clustered_option(option, word, token);
    }
  });
  return known;
}

void SecretScan::end_command(Command& command, std::size_t at) {
  const bool pipe = text_[at] == '|' && text_.substr(at, 2) != "||" && (at == 0 || text_[at - 1] != '|');
  if (printed_ && text_[at] == ')') {
    printed_ = false;
    if (command.echoes) {
      piped_end_ = at;
      mask_piped();
    }
  }
  if (command.echoes && pipe) {
    piped_end_ = at;
  } else {
    piped_begin_ = piped_end_ = 0;
  }
  command = Command(rules_);
  pending_ = false;
}

void SecretScan::mask_piped() {
  std::size_t begin = piped_begin_, end = piped_end_;
  piped_begin_ = piped_end_ = 0;
  const auto strip = [&] {
    while (begin < end && (is_space(text_[begin]) || is_quote(text_[begin]))) ++begin;
    while (end > begin && (is_space(text_[end - 1]) || is_quote(text_[end - 1]))) --end;
  };
  strip();
  // Options of echo, and the format of printf.
  while (begin < end && (text_[begin] == '-' || text_[begin] == '%')) {
    while (begin < end && !is_space(text_[begin])) ++begin;
    strip();
  }
  add_if(begin, end, Need::kNotPlain);
}

void SecretScan::walk() {
  pending_ = false;
  covered_ = 0;
  printed_ = false;
  piped_begin_ = piped_end_ = 0;
  Command command(rules_);
  command.part = place_ == secret_values::Place::kWord;
  char open = 0;
  for (std::size_t at = 0; at < text_.size();) {
    const char c = text_[at];
    // A lone '&' inside of a word separates the parameters of a URL rather than commands.
    const bool background = c == '&' && (at + 1 == text_.size() || is_space(text_[at + 1]));
    const bool goes_on = c == '\n' && at > 0 && text_[at - 1] == '\\';
    if (c == ';' || c == '|' || c == '(' || c == ')' || c == '`' || (c == '\n' && !goes_on) || background ||
        is_and(at)) {
      end_command(command, at);
    }
    if (is_quote(c)) {
      if (pending_) {
        pending_ = false;
        shell_value(at, open, expected_);
      }
      open = open == 0 ? c : open == c ? '\0' : open;
      // A quoted script starts a command of its own.
      if (command.shell) {
        command = Command(rules_);
        command.wrapped = command.shell = true;
      }
    }
    if (!is_word(c) || background || is_and(at)) {
      // "\n" of printf
      const bool escaped = c == '\\' && at + 1 < text_.size() && std::string_view("nrt").find(text_[at + 1]) != kNone;
      at += is_and(at) || (escaped && open != 0) ? 2U : 1U;
      continue;
    }
    std::size_t end = at;
    while (end < text_.size() && is_word(text_[end]) && !is_and(end)) ++end;
    if (const auto sign = text_.substr(at, end - at);
        sign == "<<<" || (sign.size() == 4 && is_digit(c) && sign.ends_with("<<<"))) {
      if (command.reads) expect({Need::kAny});
      at = end;
      continue;
    }
    const bool waited = pending_;
    const std::size_t before = ranges_.size();
    pending_ = false;
    if (waited && text_.substr(at, 2) == "<(") {
      printed_ = true;
    } else if (waited) {
      shell_value(at, open, expected_);
    }
    // A value in quotes belongs to the word, so "--x=" ends where its quote begins.
    const bool consumed = waited && ranges_.size() > before && c != '-';
    const bool echoes = command.echoes;
    if (echoes && c == '>' && open == 0) written(at);
    // An option of argv has been looked at as a whole, with the program that it belongs to.
    const bool done = at == 0 && c == '-' && place_ == secret_values::Place::kWord;
    if (!command.started) command.quoted = open != 0;
    if (!consumed && !done) token(command, {at, end, false, open});
    if (command.echoes && !echoes) piped_begin_ = end;
    if (command.reads) mask_piped();
    at = end;
  }
}

}  // namespace tracer::internal
