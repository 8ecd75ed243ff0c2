// SPDX-License-Identifier: Apache-2.0
#include "rules/secrets/secret_scan.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace tracer::internal {

using namespace secret_text;

namespace {

bool ends_cut_name(std::string_view word, std::size_t& begin) {
  const auto cut = word.rfind(kCut);
  if (cut == kNone) return false;
  begin = cut + kCut.size();
  return true;
}

/// How much of a word is searched for what a rule wants in it.
constexpr std::size_t kLooked = 4096;

bool is_any_name(std::string_view text) { return std::all_of(text.begin(), text.end(), is_name); }

}  // namespace

std::size_t SecretScan::word(std::string& text) {
  text_ = text;
  ranges_.clear();
  // Positions in the word before mean nothing in this one.
  piped_begin_ = piped_end_ = 0;
  using secret_values::Place;
  const Place place = text_.find_first_of(" \n\t") == kNone ? Place::kWord : Place::kScript;
  const bool script = script_next_ && place == Place::kScript;
  script_next_ = false;
  const bool waited = pending_;
  const Value how = expected_;
  pending_ = false;
  const Token all{0, text_.size(), true, 0};
  // No shell looks at a word of argv.
  place_ = Place::kWord;
  if (waited) value(0, text_.size(), how);
  const bool consumed = waited && !ranges_.empty();
  if (script || (consumed && !text_.starts_with('-'))) {
    outer_.long_option = false;
  } else {
    token(outer_, all);
    script_next_ = text_.size() > 1 && text_[0] == '-' && text_[1] != '-' && text_.back() == 'c';
  }
  place_ = place;
  named_word(text_);
  if (const auto colon = text_.size() - 1; text_.ends_with(':') && is_any_name(text_.substr(0, colon))) {
    const std::string_view name = text_.substr(0, colon);
    const Need need = rules_.headers_.contains(lower(name)) ? Need::kNotPlain : rules_.need_of(name);
    if (need != Need::kNever) expect({.need = need, .scheme = true});
  }
  // Of the name of an option only the end is left; its value is the next word.
  if (std::size_t begin = 0; ends_cut_name(text_, begin) && rules_.need_of_end(text_.substr(begin)) > Need::kHinted) {
    expect({Need::kNotPlain});
  }
  // "-P api_key:x"
  if (const auto colon = text_.substr(0, kMaxName).find(':'); colon != kNone && place_ == Place::kWord &&
                                                              is_any_name(text_.substr(0, colon)) &&
                                                              rules_.need_of(text_.substr(0, colon)) > Need::kHinted) {
    value(colon + 1, text_.size(), {Need::kRandom});
  }
  if (text_ == "=" || text_ == ":") {
    if (last_name_.need > Need::kHinted) expect(last_name_);
  }
  last_name_ = Value{text_.size() <= kMaxName && is_any_name(text_) ? rules_.need_of(text_) : Need::kNever};
  const bool pending = pending_;
  const Value expected = expected_;
  walk();
  pending_ = pending;
  expected_ = expected;
  find();
  return replace(text);
}

void SecretScan::value(std::size_t begin, std::size_t end, const Value& how) {
  const std::string_view text = text_.substr(begin, end - begin);
  if (how.prints) return printed(begin, end);
  if (how.scheme && rules_.schemes_.contains(lower(text.substr(0, 32)))) {
    expect(how);
    return;
  }
  if (const auto blank = text.substr(0, 32).find(' ');
      blank != kNone && rules_.schemes_.contains(lower(text.substr(0, blank)))) {
    // "-k 'token and not slow'" is an expression.
    if (how.need != Need::kToken) {
      add(begin + blank + 1, end);
    } else if (text.find(' ', blank + 1) == kNone) {
      add_if(begin + blank + 1, end, Need::kWord);
    }
    return;
  }
  // Who logs in at a URL is in it.
  if (how.after.starts_with(':') && text.find("://") != kNone) return;
  if (!how.after.empty()) {
    const auto at = text.find_first_of(how.after);
    // "/@db": no user, and no password.
    if (at == kNone && how.otherwise != Need::kNever) {
      value(begin, end, {how.otherwise});
      return;
    }
    if (at == kNone || (text[at] == '/' && (at == 0 || text[0] == '@'))) return;
    // "-u TOKEN:", "-u TOKEN:x-oauth-basic"
    if (how.after.starts_with(':') && secret_values::is_random(text.substr(0, at))) add(begin, begin + at);
    begin += at + 1;
  }
  if (!how.before.empty()) {
    const auto at = text_.substr(begin, end - begin).find_last_of(how.before);
    if (at != kNone) end = begin + at;
  }
  add_if(begin, end, how.need);
}

bool SecretScan::is_next_name(std::size_t at) const {
  if (at < text_.size() && text_[at] == ' ') ++at;
  const std::size_t begin = at;
  while (at < text_.size() && at - begin < kMaxName && is_name(text_[at])) ++at;
  return at > begin && at < text_.size() && text_[at] == '=' && at + 1 < text_.size() && text_[at + 1] != '=';
}

std::size_t SecretScan::before_next_name(std::size_t begin, std::size_t end) const {
  for (std::size_t at = begin; at < end; ++at) {
    if ((text_[at] == '&' || text_[at] == ',' || text_[at] == ';') && is_next_name(at + 1)) return at;
  }
  return end;
}

void SecretScan::shell_value(std::size_t begin, char open, const Value& how) {
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
      value(at + 1, end, how);
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
    if ((text_[at] == '&' || text_[at] == ',' || text_[at] == ';') && is_next_name(at + 1)) break;
    ++at;
  }
  at = std::min(at, text_.size());
  covered_ = at;
  // The command's own end stays visible.
  while (at > begin && (text_[at - 1] == ';' || text_[at - 1] == ')' || text_[at - 1] == '|')) --at;
  value(begin, at, how);
}

void SecretScan::set_value(std::size_t begin, const Token& token, const Value& how) {
  if (token.whole) {
    value(begin, token.end, how);
  } else {
    shell_value(begin, token.open, how);
  }
}

void SecretScan::token(Command& command, const Token& token) {
  const std::string_view word = text_.substr(token.begin, token.end - token.begin);
  if (word.empty()) return;
  if (joined_option(command, word, token)) return;
  if (word[0] == '-') {
    option(command, token, word);
    return;
  }
  const std::size_t equals = word.substr(0, 2 * kMaxName).find_first_of("= \n");
  if (equals != kNone && equals > 0 && word[equals] == '=') {
    assignment(command, token, word, equals);
  } else if (token.depth == 0) {
    argument(command, token, word);
  } else {
    program(command, word);
  }
}

void SecretScan::option(Command& command, const Token& token, std::string_view word) {
  std::size_t equals = 0;
  while (equals < word.size() && equals <= kMaxName && is_name(word[equals])) ++equals;
  const bool assigns = equals < word.size() && (word[equals] == '=' || word[equals] == ':');
  const bool bare = equals == word.size();
  std::string_view name = word.substr(0, equals);
  command.skip = command.user_next = command.name_next = false;
  command.reads = command.reads || reads_secret(name);
  joined_password(command, word, token);
  command.long_option = bare && word.size() > 2 && word.starts_with("--");
  for_each_option(command, [&](const Option& option, std::uint8_t& progress) {
    if (progress < option.subcommands.size()) {
      const std::string& flag = option.subcommands[progress];
      const bool letter = flag.size() == 2 && flag[0] == '-' && word.size() > 1 && word[1] != '-' && bare;
      if (word == flag || (letter && word.find(flag[1], 1) != kNone)) ++progress;
    } else if (bare && is_any_of(option.valued, word)) {
      command.skip = true;
    }
  });
  if ((assigns || bare) && program_option(command, name, token, assigns ? token.begin + equals + 1 : 0)) return;
  if ((assigns || bare) && pair_option(command, name, token, assigns ? token.begin + equals + 1 : 0)) return;
  const bool dashes = name.starts_with("--");
  while (name.starts_with('-')) name.remove_prefix(1);
  Need need = name.size() > 1 ? rules_.need_of(name) : Need::kNever;
  // Who logs in has a password; "--pass" alone counts, too.
  if (need == Need::kWord && command.user) need = Need::kText;
  if (!dashes && assigns && name.size() > 2) need = std::max(need, rules_.need_of(name.substr(1)));
  if (assigns) {
    const std::size_t begin = token.begin + equals + 1;
    if (need != Need::kNever) {
      set_value(begin, token, {need});
    } else if (is_printed(name)) {
      set_value(begin, token, {.need = Need::kNotPlain, .prints = true});
    }
    // "--env=TOKEN=x": what follows is a word of its own.
    if (need <= Need::kText && token.depth < 4 && begin < token.end) {
      this->token(command, {begin, token.end, token.whole, token.open, token.depth + 1});
    }
  } else if (const auto sign = word.substr(0, 2 * kMaxName).find_first_of("= \n");
             !bare && sign != kNone && word[sign] == '=') {
    // "--//registry/:_authToken=x"
    assignment(command, token, word, sign);
  } else if (bare && need != Need::kNever) {
    expect({need});
  } else if (bare && is_printed(name)) {
    expect({.need = Need::kNotPlain, .prints = true});
  } else if (bare && word.size() == 2 && std::string_view("aAkKtTpPwW").find(word[1]) != kNone) {
    // Many programs take a key or a token so; only what can be nothing else is one.
    expect({Need::kToken});
  }
}

bool SecretScan::is_code(std::size_t begin, std::size_t at) const {
  if (at >= text_.size() || !(is_alnum(text_[at]) || text_[at] == '_')) return false;
  const std::size_t from = at;
  bool digit = false;
  while (at < text_.size() && at - from < kMaxName &&
         (is_alnum(text_[at]) || text_[at] == '_' || text_[at] == '.' || text_[at] == ':')) {
    digit = digit || is_digit(text_[at]);
    ++at;
  }
  if (at >= text_.size()) return false;
  // "token=Sys.getenv('X')", "token=os.environ['X']"
  if (text_[at] == '(' || text_[at] == '[') return true;
  // "connect(user=me, password=pw)"
  while (begin > 0 && is_space(text_[begin - 1])) --begin;
  return !digit && begin > 0 && (text_[begin - 1] == '(' || text_[begin - 1] == ',') &&
         (text_[at] == ')' || text_[at] == ',') && text_.find('(') < begin;
}

void SecretScan::assignment(Command& command, const Token& token, std::string_view word, std::size_t equals) {
  std::size_t end = equals;
  while (end > 0 && (word[end - 1] == ']' || is_quote(word[end - 1]) || word[end - 1] == '+')) --end;
  std::size_t begin = end;
  while (begin > 0 && end - begin < kMaxName && is_name(word[begin - 1])) --begin;
  const std::string_view name = word.substr(begin, end - begin);
  const std::size_t from = token.begin + equals + 1;
  if (from >= text_.size()) return;
  // "sum(up{token=": what is in there is looked at as a script.
  if (token.whole && begin > 0 && std::string_view("({[,\"'").find(word[begin - 1]) != kNone) return;
  if (is_label(token.begin)) return;
  // "(token=)"
  if (!token.whole && text_[from] == ')') return;
  // "token=" of a text.
  if (!token.whole && is_quote(text_[from]) && token.begin > 0 && text_[token.begin - 1] == text_[from]) return;
  // "h=db,u=me,p=x": what the program's options are, these may be.
  if (program_option(command.part ? outer_ : command, name, token, from)) return;
  Need need = rules_.need_of(name);
  if (!token.whole && need != Need::kNever && is_code(token.begin, from)) return;
  // Of the name only the end is left.
  if (need <= Need::kHinted && word.substr(0, begin).ends_with(kCut)) {
    const std::size_t part = std::min(name.find_first_of("_-."), name.size());
    need = std::max({need, std::min(rules_.need_of_end(name), Need::kText), rules_.need_of(name.substr(part))});
  }
  // "key==x" of HTTPie; of pip a version follows.
  if (need != Need::kNever && text_[from] == '=' && token.whole) {
    value(from + 1, token.end, {Need::kRandom});
    return;
  }
  // "-F key=DB_PASSWORD -F value=x"
  if (name == "key" || name == "name") command.named = rules_.need_of(text_.substr(from, token.end - from));
  if (name == "value" && command.named > Need::kHinted) need = Need::kNotPlain;
  if (need == Need::kNever && is_printed(name)) set_value(from, token, {.need = Need::kNotPlain, .prints = true});
  if (need != Need::kNever && text_[from] != '=') {
    if (token.whole) {
      const auto close = is_quote(text_[from]) ? text_.find(text_[from], from + 1) : kNone;
      value(from, close == kNone ? before_next_name(from, token.end) : close + 1, {need});
    } else {
      shell_value(from, token.open, {need});
    }
  }
  if (need <= Need::kText && token.depth < 4 && from < token.end) {
    this->token(command, {from, token.end, token.whole, token.open, token.depth + 1});
  }
}

void SecretScan::argument(Command& command, const Token& token, std::string_view word) {
  const bool behind_option = command.long_option;
  command.long_option = false;
  if (command.skip) {
    command.skip = false;
    return;
  }
  pair_argument(command, word, behind_option);
  // The last part of "//registry/:_authToken".
  std::size_t from = word.size();
  while (from > 0 && word.size() - from < kMaxName && is_name(word[from - 1])) --from;
  bool keyword = false, secret = false;
  for_each_option(command, [&](const Option& option, std::uint8_t& progress) {
    if (progress < option.subcommands.size()) {
      const std::string& next = option.subcommands[progress];
      if (next.size() == word.size() && lower(word) == next) ++progress;
      command.reads =
          command.reads || (option.stdin_secret && option.names.empty() && progress == option.subcommands.size());
      return;
    }
    const bool active = is_active(option, progress);
    keyword = keyword || (option.keywords && active);
    if (active && !option.stdin_secret && is_any_of(option.names, word)) {
      expect({Need::kAny, option.after, option.before});
    }
    if (progress < 255) ++progress;
    if (option.argument != 0 && progress == option.subcommands.size() + option.argument) {
      set_value(token.begin, token, {Need::kAny, option.after, option.before});
      secret = true;
    }
  });
  if (secret) return;
  // "login TOKEN", "token set TOKEN"
  if ((command.user || command.named > Need::kText) && !command.wrapped) {
    value(token.begin, token.end, {Need::kToken});
  }
  if (const Need need = rules_.need_of(word.substr(from)); keyword || need > Need::kText) {
    if (keyword && need != Need::kNever) expect({need});
    // Of a program that is not known, what follows must look like a secret.
    if (!keyword && from == 0) expect({Need::kRandom});
  }
  if (!behind_option) program(command, word);
  command.started = true;
}

void SecretScan::program(Command& command, std::string_view word) {
  const std::string_view base = base_name(word);
  const bool bin = word.find("/bin/") != kNone || word.find("/sbin/") != kNone;
  // A folder may be called as a program is.
  if (command.started && !command.wrapped && base.size() != word.size() && !bin) return;
  command.wrapped = command.wrapped || rules_.wrappers_.contains(base);
  command.shell = command.shell || rules_.shells_.contains(base);
  if (!command.started) command.echoes = base == "echo" || base == "printf";
  command.tees = command.tees || base == "tee";
  auto hit = rules_.programs_.find(base);
  if (const auto name = base.find_last_not_of("0123456789.-");
      hit == rules_.programs_.end() && (!command.started || command.wrapped) && name != kNone && name >= 2) {
    // "mysqldump-8.0"
    hit = rules_.programs_.find(base.substr(0, name + 1));
  }
  if (hit == rules_.programs_.end()) return;
  for (std::size_t part = 0; part < command.programs.size(); ++part) {
    std::uint64_t set = hit->second[part];
    for (std::uint64_t left = set & rules_.conditional_[part]; left != 0; left &= left - 1) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(left));
      const Option& option = rules_.options_[part * 64 + bit];
      const bool first = !command.started && !command.quoted;
      if ((option.first && !first) || text_.substr(0, kLooked).find(option.within) == kNone)
        set &= ~(std::uint64_t{1} << bit);
    }
    command.programs[part] |= set;
  }
  for_each_option(command, [&](const Option& option, std::uint8_t&) {
    if (option.stdin_secret && option.names.empty() && option.subcommands.empty()) command.reads = true;
  });
}

}  // namespace tracer::internal
