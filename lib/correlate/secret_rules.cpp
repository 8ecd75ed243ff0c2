// SPDX-License-Identifier: Apache-2.0
#include "secret_rules.hpp"

#include "builtin_rules.hpp"

// The compiled library would be one more thing to ship; the header must be used in this file only.
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

namespace tracer {

using namespace secret_text;

namespace {

std::string_view basename_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

bool SecretRules::is_secret_name(std::string_view name) const {
  if (name.empty() || name.size() > kMaxName) return false;
  // "dbPassword", "DB_PASSWORD" and "db.password" all become "db_password".
  std::string flat;
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (!is_alnum(c)) continue;
    const bool first = i == 0 || !is_alnum(name[i - 1]);
    const bool hump = i > 0 && is_upper(c) &&
                      (is_lower(name[i - 1]) || is_digit(name[i - 1]) ||
                       (is_upper(name[i - 1]) && i + 1 < name.size() && is_lower(name[i + 1])));
    if (first || hump) {
      if (!flat.empty()) flat += '_';
      starts.push_back(flat.size());
    }
    flat += lower(c);
  }
  if (starts.empty()) return false;
  const std::string_view view = flat;
  const auto end_of = [&](std::size_t word) { return word + 1 < starts.size() ? starts[word + 1] - 1 : view.size(); };
  if (except_first_.contains(view.substr(0, end_of(0)))) return false;
  const bool excepted = except_last_.contains(view.substr(starts.back()));
  for (std::size_t from = 0; from < starts.size(); ++from) {
    for (std::size_t to = from; to < starts.size() && to < from + 3; ++to) {
      if (!parts_.contains(view.substr(starts[from], end_of(to) - starts[from]))) continue;
      if (!excepted || to + 1 == starts.size()) return true;
    }
  }
  return false;
}

/// Masks one argv: finds the ranges that are secret in each word, then replaces them.
class SecretScan : private SecretFinder {
 public:
  using SecretFinder::SecretFinder;

  std::size_t word(std::string& text) {
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

 private:
  struct Command {
    bool started = false;
    bool wrapped = false;
    bool shell = false;
    std::uint64_t programs = 0;  ///< Rules whose program has been seen.
    std::uint64_t active = 0;    ///< Those of them whose subcommand has been seen as well.
  };

  void value(std::size_t begin, std::size_t end, std::string_view after) {
    if (!after.empty()) {
      const auto at = text_.substr(begin, end - begin).find_first_of(after);
      if (at == kNone) return;
      begin += at + 1;
    }
    add(begin, end);
  }

  /// Where a shell ends the value that begins at `begin`; `open` is the quote around all of it, or 0.
  void shell_value(std::size_t begin, char open, std::string_view after) {
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

  void set_value(std::size_t begin, std::size_t end, bool whole, char open, std::string_view after) {
    if (whole) {
      value(begin, end, after);
    } else {
      shell_value(begin, open, after);
    }
  }
  void expect(std::string_view after) {
    pending_ = true;
    pending_after_ = after;
  }

  /// Looks at one word of a command: options, NAME=value, and which program it is.
  void token(Command& command, std::size_t begin, std::size_t end, bool whole, char open = 0) {
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
      const bool secret = name.size() > 1 && (rules_.is_secret_name(name) ||
                                              (!dashes && assigns && rules_.is_secret_name(name.substr(1))));
      if (secret && assigns) set_value(begin + equals + 1, end, whole, open, {});
      if (secret && !assigns && equals == word.size()) expect({});
      return;
    }
    if (assigns) {
      if (rules_.is_secret_name(word.substr(0, equals))) set_value(begin + equals + 1, end, whole, open, {});
      return;
    }
    const std::string_view base = basename_of(word);
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

  template <class Visit>
  void for_each_option(std::uint64_t set, Visit visit) {
    for (std::size_t i = 0; set != 0; ++i, set >>= 1U) {
      if ((set & 1U) != 0) visit(rules_.options_[i], std::uint64_t{1} << i);
    }
  }
  void program_option(const Command& command, std::string_view name, bool assigns, std::size_t begin, std::size_t end,
                      bool whole, char open) {
    for_each_option(command.active, [&](const SecretRules::Option& option, std::uint64_t) {
      if (std::find(option.names.begin(), option.names.end(), name) == option.names.end()) return;
      if (assigns) {
        set_value(begin + name.size() + 1, end, whole, open, option.after);
      } else {
        expect(option.after);
      }
    });
  }
  void joined_option(const Command& command, std::string_view word, std::size_t begin, std::size_t end, bool whole,
                     char open) {
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

  /// Cuts the text into words as a shell might; a cut may have lost one of a pair of quotes, so they cut like spaces.
  void walk() {
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
  bool is_and(std::size_t at) const { return text_.substr(at, 2) == "&&"; }
  static bool is_word(char c) { return !is_space(c) && std::string_view("\"';|()`\\{},").find(c) == kNone; }

  Command outer_;
  bool pending_ = false;
  std::string_view pending_after_;
  bool script_next_ = false;
};

std::size_t SecretRules::mask(std::vector<std::string>& argv) const {
  std::size_t total = 0, count = 0;
  for (const std::string& word : argv) total += word.size() + 1;
  SecretScan scan(*this, total);
  for (std::string& word : argv) count += scan.word(word);
  return count;
}

/// Turns a TOML document into rules; here rather than in SecretRules so that its header needs no TOML.
class SecretRulesReader {
 public:
  SecretRulesReader(SecretRules& rules, RuleMistakes& mistakes) : rules_(rules), mistakes_(mistakes) {}

  void read(const toml::table& root) {
    check_keys(root, "the file", {"schema", "name", "option", "command", "parameter", "header", "url", "shape"},
               mistakes_);
    check_schema(root, mistakes_);
    each(root, "name", {"parts", "except_last", "except_first", "test"}, [&](const toml::table& table) {
      insert(table, "parts", rules_.parts_);
      insert(table, "except_last", rules_.except_last_);
      insert(table, "except_first", rules_.except_first_);
    });
    each(root, "command", {"wrappers", "shells", "test"}, [&](const toml::table& table) {
      insert(table, "wrappers", rules_.wrappers_);
      insert(table, "shells", rules_.shells_);
    });
    each(root, "parameter", {"names", "test"}, [&](const toml::table& t) { insert(t, "names", rules_.parameters_); });
    each(root, "header", {"names", "schemes", "test"}, [&](const toml::table& table) {
      insert(table, "names", rules_.headers_);
      insert(table, "schemes", rules_.schemes_);
    });
    each(root, "url", {"plain", "test"}, [&](const toml::table& table) { insert(table, "plain", rules_.plain_urls_); });
    each(root, "option", {"programs", "subcommand", "names", "joined", "after", "test"},
         [&](const toml::table& table) { read_option(table); });
    each(root, "shape", {"prefixes", "min", "chars", "contains", "test"},
         [&](const toml::table& table) { read_shape(table); });
  }

 private:
  template <class Visit>
  void each(const toml::table& root, std::string_view key, std::initializer_list<std::string_view> known, Visit visit) {
    for_each_table(root, key, mistakes_, [&](const toml::table& table) {
      check_keys(table, key, known, mistakes_);
      visit(table);
      read_examples(table, fmt::format("{}:{}", key, line_of(table)));
    });
  }
  std::vector<std::string> strings(const toml::table& table, std::string_view key) {
    return read_strings(table, key, false, mistakes_);
  }
  void insert(const toml::table& table, std::string_view key, SecretRules::Names& names) {
    for (const std::string& text : strings(table, key)) {
      // Names are compared in lower case, so others could never match.
      if (lower(text) != text) mistakes_.add(line_of(*table.get(key)), fmt::format("\"{}\" must be lower case", text));
      names.insert(text);
    }
  }

  void read_option(const toml::table& table) {
    SecretRules::Option option{read_string(table, "subcommand", false, mistakes_), strings(table, "names"),
                               strings(table, "joined"), read_string(table, "after", false, mistakes_)};
    const auto programs = strings(table, "programs");
    if (programs.empty()) mistakes_.add(line_of(table), "option: \"programs\" is missing or empty");
    if (option.names.empty() && option.joined.empty()) {
      mistakes_.add(line_of(table), "option: neither \"names\" nor \"joined\" names an option");
    }
    if (rules_.options_.size() >= 64) {
      mistakes_.add(line_of(table), "option: there are more than 64 of them");
      return;
    }
    for (const std::string& program : programs) rules_.programs_[program] |= std::uint64_t{1} << rules_.options_.size();
    rules_.options_.push_back(std::move(option));
  }

  void read_shape(const toml::table& table) {
    SecretRules::Shape shape;
    const auto min = read_value<std::int64_t>(table, "min", 1, "an integer", mistakes_);
    if (min < 1 || min > 1024) mistakes_.add(line_of(table), "shape: \"min\" must be from 1 to 1024");
    shape.min = static_cast<std::size_t>(min);
    shape.contains = read_string(table, "contains", false, mistakes_);
    const std::string chars = read_string(table, "chars", true, mistakes_);
    if (!chars.empty() && chars != "alnum" && chars != "base64url" && chars != "jwt") {
      mistakes_.add(line_of(*table.get("chars")), "\"chars\" must be alnum, base64url or jwt");
    }
    for (std::size_t c = 0; c < shape.set.size(); ++c) {
      const char letter = static_cast<char>(c);
      shape.set[c] = is_alnum(letter) || (chars != "alnum" && (letter == '-' || letter == '_')) ||
                     (chars == "jwt" && letter == '.');
    }
    const auto prefixes = strings(table, "prefixes");
    if (prefixes.empty()) mistakes_.add(line_of(table), "shape: \"prefixes\" is missing or empty");
    for (const std::string& prefix : prefixes) {
      shape.prefix = prefix;
      rules_.shapes_.push_back(shape);
    }
  }

  void read_examples(const toml::table& table, const std::string& rule) {
    const std::size_t before = rules_.examples_.size();
    for_each_table(table, "test", mistakes_, [&](const toml::table& test) {
      check_keys(test, "test", {"argv", "masked"}, mistakes_);
      SecretExample example{rule, read_strings(test, "argv", true, mistakes_),
                            read_strings(test, "masked", true, mistakes_)};
      if (example.argv.empty() || example.argv.size() != example.masked.size()) {
        mistakes_.add(line_of(test), "\"argv\" and \"masked\" must have the same number of words, at least one");
      }
      rules_.examples_.push_back(std::move(example));
    });
    if (rules_.examples_.size() == before) rules_.examples_.push_back({rule, {}, {}});
  }

  SecretRules& rules_;
  RuleMistakes& mistakes_;
};

SecretRules SecretRules::parse(std::string_view toml, std::string_view origin) {
  SecretRules rules;
  RuleMistakes mistakes(origin);
  try {
    SecretRulesReader(rules, mistakes).read(toml::parse(toml));
  } catch (const toml::parse_error& error) {
    mistakes.add(error.source().begin.line, error.description());
  }
  mistakes.throw_if_any();
  return rules;
}

SecretRules SecretRules::load(const std::filesystem::path& file) { return parse(read_rules_file(file), file.string()); }

const SecretRules& SecretRules::builtin() {
  static const SecretRules rules = parse(kBuiltinSecretRules, "rules/secrets.toml (built in)");
  return rules;
}

}  // namespace tracer
