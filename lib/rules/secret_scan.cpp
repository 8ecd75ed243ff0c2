// SPDX-License-Identifier: Apache-2.0
#include "rules/secret_scan.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace tracer::internal {

using namespace secret_text;

namespace {

bool is_word(char c) { return !is_space(c) && std::string_view("\"';|()`\\{},").find(c) == kNone; }

}  // namespace

std::size_t SecretScan::word(std::string& text) {
  text_ = text;
  ranges_.clear();
  const bool script = script_next_;
  script_next_ = false;
  if (pending_) value(0, text_.size(), pending_after_);
  pending_ = false;
  if (script) {
    pending_ = false;
  } else {
    token(outer_, 0, text_.size(), true);
    script_next_ = outer_.shell && text_.size() > 1 && text_[0] == '-' && text_[1] != '-' && text_.back() == 'c';
  }
  const bool pending = pending_;
  const auto after = pending_after_;
  walk();
  pending_ = pending;
  pending_after_ = after;
  find();
  return replace(text);
}

void SecretScan::value(std::size_t begin, std::size_t end, std::string_view after) {
  if (!after.empty()) {
    const auto at = text_.substr(begin, end - begin).find_first_of(after);
    if (at == kNone) return;
    begin += at + 1;
  }
  add(begin, end);
}

void SecretScan::shell_value(std::size_t begin, char open, std::string_view after) {
  // What another value covers is scanned once only, or nested values would cost quadratic time.
  if (begin < covered_) return;
  std::size_t at = begin;
  while (at < text_.size() && text_[at] == '\\' && at + 1 < text_.size() && is_quote(text_[at + 1])) begin = ++at;
  if (at < text_.size() && is_quote(text_[at])) {
    // A quote at the beginning opens, even where a cut or an apostrophe has turned the pairs around.
    const auto close = text_.find(text_[at], at + 1);
    const std::size_t end = close == kNone ? text_.size() : close;
    const bool ends = end + 1 >= text_.size() || is_space(text_[end + 1]) || !is_name(text_[end + 1]);
    if (ends) {
      covered_ = end;
      value(at + 1, end, after);
      return;
    }
  }
  while (at < text_.size() && !is_space(text_[at])) {
    if (text_[at] == '\\') {
      if (at + 1 < text_.size() && is_quote(text_[at + 1]) && at > begin) break;
      at += 2;
      continue;
    }
    if (is_quote(text_[at])) {
      if (text_[at] == open && at > begin) break;
      const auto close = text_.find(text_[at], at + 1);
      if (close == kNone) {
        at = text_.size();
        break;
      }
      at = close;
    }
    ++at;
  }
  at = std::min(at, text_.size());
  covered_ = at;
  // The command's own end stays visible.
  while (at > begin && (text_[at - 1] == ';' || text_[at - 1] == ')' || text_[at - 1] == '|')) --at;
  value(begin, at, after);
}

void SecretScan::set_value(std::size_t begin, std::size_t end, bool whole, char open, std::string_view after) {
  if (whole) {
    value(begin, end, after);
  } else {
    shell_value(begin, open, after);
  }
}

void SecretScan::token(Command& command, std::size_t begin, std::size_t end, bool whole, char open) {
  const std::string_view word = text_.substr(begin, end - begin);
  if (word.empty()) return;
  std::size_t equals = 0;
  while (equals < word.size() && equals <= kMaxName && is_name(word[equals])) ++equals;
  const bool assigns = equals < word.size() && word[equals] == '=';
  if (word[0] == '-') {
    std::string_view name = word.substr(0, equals);
    if (assigns || equals == word.size()) program_option(command, name, assigns, begin, end, whole, open);
    joined_option(command, word, begin, end, whole, open);
    const bool dashes = name.starts_with("--");
    while (name.starts_with('-')) name.remove_prefix(1);
    const bool secret = name.size() > 1 &&
                        (rules_.is_secret_name(name) || (!dashes && assigns && rules_.is_secret_name(name.substr(1))));
    if (secret && assigns) set_value(begin + equals + 1, end, whole, open, {});
    if (secret && !assigns && equals == word.size()) expect({});
    return;
  }
  if (assigns) {
    if (rules_.is_secret_name(word.substr(0, equals))) set_value(begin + equals + 1, end, whole, open, {});
    return;
  }
  const std::string_view base = base_name(word);
  if (!command.started || command.wrapped) {
    command.wrapped = command.wrapped || rules_.wrappers_.contains(base);
    command.shell = command.shell || rules_.shells_.contains(base);
    if (const auto hit = rules_.programs_.find(base); hit != rules_.programs_.end()) command.programs |= hit->second;
  }
  command.started = true;
  for_each_option(command.programs & ~command.active, [&](const SecretRules::Option& option, std::uint64_t bit) {
    if (option.subcommand.empty() || option.subcommand == word) command.active |= bit;
  });
}

void SecretScan::program_option(const Command& command, std::string_view name, bool assigns, std::size_t begin,
                                std::size_t end, bool whole, char open) {
  for_each_option(command.active, [&](const SecretRules::Option& option, std::uint64_t) {
    if (std::find(option.names.begin(), option.names.end(), name) == option.names.end()) return;
    if (assigns) {
      set_value(begin + name.size() + 1, end, whole, open, option.after);
    } else {
      expect(option.after);
    }
  });
}

void SecretScan::joined_option(const Command& command, std::string_view word, std::size_t begin, std::size_t end,
                               bool whole, char open) {
  for_each_option(command.active, [&](const SecretRules::Option& option, std::uint64_t) {
    for (const std::string& key : option.joined) {
      // In a script, a value in quotes begins where the word ends: -p"a b".
      const bool quoted =
          !whole && end < text_.size() && (is_quote(text_[end]) ? text_[end] != open : text_[end] == '\\');
      if (word.starts_with(key) && (word.size() > key.size() || quoted)) {
        set_value(begin + key.size(), end, whole, open, option.after);
      }
    }
  });
}

void SecretScan::walk() {
  pending_ = false;
  covered_ = 0;
  Command command;
  char open = 0;
  for (std::size_t at = 0; at < text_.size();) {
    const char c = text_[at];
    // A lone '&' inside of a word separates the parameters of a URL rather than commands.
    const bool background = c == '&' && (at + 1 == text_.size() || is_space(text_[at + 1]));
    if (c == ';' || c == '|' || c == '(' || c == ')' || c == '`' || c == '\n' || background || is_and(at)) {
      command = Command{};
      pending_ = false;
    }
    if (is_quote(c)) {
      if (pending_) {
        shell_value(at, open, pending_after_);
        pending_ = false;
      }
      open = open == 0 ? c : open == c ? '\0' : open;
      // A quoted script starts a command of its own.
      if (command.shell) command = Command{false, true, true, 0, 0};
    }
    if (!is_word(c) || background || is_and(at)) {
      at += is_and(at) ? 2U : 1U;
      continue;
    }
    std::size_t end = at;
    while (end < text_.size() && is_word(text_[end]) && !is_and(end)) ++end;
    if (pending_) shell_value(at, open, pending_after_);
    pending_ = false;
    // A value in quotes belongs to the word, so "--x=" ends where its quote begins.
    token(command, at, end, false, open);
    at = end;
  }
}

}  // namespace tracer::internal
