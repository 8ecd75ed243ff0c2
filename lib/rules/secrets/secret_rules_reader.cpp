// SPDX-License-Identifier: Apache-2.0
#include "rules/secrets/secret_rules_reader.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "rules/builtin_rules.hpp"
#include "rules/rules_reader.hpp"
#include "rules/secrets/secret_rules.hpp"
#include "rules/secrets/secret_text.hpp"

namespace tracer::internal {

using namespace secret_text;

/// Turns a TOML document into rules and their examples.
class SecretRulesReader {
 public:
  explicit SecretRulesReader(RuleMistakes& mistakes) : mistakes_(mistakes) {}

  SecretRules& rules() { return rules_; }
  std::vector<SecretExample>& examples() { return examples_; }

  void read(const toml::table& root) {
    check_keys(root, "the file",
               {"schema", "name", "option", "command", "parameter", "header", "url", "call", "shape", "value", "pair"},
               mistakes_);
    each(root, "name",
         {"parts", "counts", "hints", "endings", "except_last", "except_first", "except_hints", "except_ends", "test"},
         [&](const toml::table& table) {
           insert_parts(table, "hints", Need::kRandom);
           insert_parts(table, "counts", Need::kText);
           insert_parts(table, "parts", Need::kNotPlain);
           for (std::string& ending : strings(table, "endings")) rules_.endings_.push_back(std::move(ending));
           insert(table, "except_last", rules_.except_last_);
           insert(table, "except_first", rules_.except_first_);
           insert(table, "except_hints", rules_.except_hints_);
           for (std::string& end : strings(table, "except_ends")) rules_.except_ends_.push_back(std::move(end));
         });
    each(root, "command", {"wrappers", "shells", "test"}, [&](const toml::table& table) {
      insert(table, "wrappers", rules_.wrappers_);
      insert(table, "shells", rules_.shells_);
    });
    each(root, "parameter", {"names", "hints", "test"}, [&](const toml::table& table) {
      insert(table, "names", rules_.parameters_);
      insert(table, "hints", rules_.parameter_hints_);
    });
    each(root, "header", {"names", "schemes", "test"}, [&](const toml::table& table) {
      insert(table, "names", rules_.headers_);
      insert(table, "schemes", rules_.schemes_);
    });
    each(root, "url", {"plain", "logins", "segments", "rests", "test"}, [&](const toml::table& table) {
      insert(table, "plain", rules_.plain_urls_);
      insert(table, "logins", rules_.login_urls_);
      for (std::string& text : strings(table, "segments")) rules_.url_segments_.push_back(std::move(text));
      for (std::string& text : strings(table, "rests")) rules_.url_rests_.push_back(std::move(text));
    });
    each(root, "call", {"names", "setters", "connects", "test"}, [&](const toml::table& table) {
      insert(table, "names", rules_.calls_);
      for (std::string& text : strings(table, "setters")) rules_.setters_.push_back(std::move(text));
      for (std::string& text : strings(table, "connects")) rules_.connects_.push_back(std::move(text));
    });
    each(root, "pair", {"logins", "users", "passwords", "names", "values", "test"}, [&](const toml::table& table) {
      insert(table, "logins", rules_.pair_logins_);
      for (std::string& text : strings(table, "users")) rules_.pair_users_.insert(std::move(text));
      for (std::string& text : strings(table, "passwords")) rules_.pair_passwords_.insert(std::move(text));
      for (std::string& text : strings(table, "names")) rules_.pair_names_.insert(std::move(text));
      for (std::string& text : strings(table, "values")) rules_.pair_values_.insert(std::move(text));
    });
    each(root, "value", {"constants", "files", "folders", "test"}, [&](const toml::table& table) {
      insert(table, "constants", rules_.values_.constants_);
      insert(table, "files", rules_.values_.files_);
      for (std::string& text : strings(table, "folders")) rules_.values_.folders_.insert(std::move(text));
    });
    each(root, "option",
         {"programs", "subcommand", "names", "joined", "plain", "valued", "flags", "after", "before", "argument",
          "keywords", "assigned", "first", "within", "leading", "stdin", "test"},
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
  void insert(const toml::table& table, std::string_view key, Names& names) {
    for (const std::string& text : strings(table, key)) {
      // Names are compared in lower case, so others could never match.
      if (lower(text) != text) mistakes_.add(line_of(*table.get(key)), fmt::format("\"{}\" must be lower case", text));
      names.insert(text);
    }
  }

  void insert_parts(const toml::table& table, std::string_view key, Need need) {
    Names names;
    insert(table, key, names);
    for (const std::string& name : names) rules_.parts_[name] = std::max(rules_.parts_[name], need);
  }

  void read_option(const toml::table& table) {
    SecretRules::Option option;
    const std::string subcommand = read_string(table, "subcommand", false, mistakes_);
    for (std::size_t at = 0; at < subcommand.size();) {
      const std::size_t end = std::min(subcommand.find(' ', at), subcommand.size());
      if (end > at) option.subcommands.push_back(subcommand.substr(at, end - at));
      at = end + 1;
    }
    option.names = strings(table, "names");
    option.joined = strings(table, "joined");
    option.plain = strings(table, "plain");
    option.valued = strings(table, "valued");
    option.within = read_string(table, "within", false, mistakes_);
    option.flags = read_string(table, "flags", false, mistakes_);
    option.after = read_string(table, "after", false, mistakes_);
    option.before = read_string(table, "before", false, mistakes_);
    const auto argument = read_integer(table, "argument", 0, mistakes_);
    if (argument < 0 || argument > 9) mistakes_.add(line_of(table), "option: \"argument\" must be from 1 to 9");
    option.argument = static_cast<std::size_t>(argument);
    option.keywords = read_flag(table, "keywords", mistakes_);
    option.assigned = read_flag(table, "assigned", mistakes_);
    option.first = read_flag(table, "first", mistakes_);
    option.leading = read_flag(table, "leading", mistakes_);
    option.stdin_secret = read_flag(table, "stdin", mistakes_);
    const auto programs = strings(table, "programs");
    if (programs.empty()) mistakes_.add(line_of(table), "option: \"programs\" is missing or empty");
    if (option.names.empty() && option.joined.empty() && option.plain.empty() && option.argument == 0 &&
        !option.keywords && !option.assigned && !option.stdin_secret) {
      mistakes_.add(line_of(table), "option: neither \"names\" nor any other key says what is secret");
    }
    const std::size_t index = rules_.options_.size();
    if (index >= SecretRules::kMaxOptions) {
      mistakes_.add(line_of(table), fmt::format("option: there are more than {} of them", SecretRules::kMaxOptions));
      return;
    }
    for (const std::string& program : programs) {
      (program == "*" ? rules_.any_program_ : rules_.programs_[program])[index / 64] |= std::uint64_t{1}
                                                                                        << (index % 64);
    }
    if (option.first || !option.within.empty()) rules_.conditional_[index / 64] |= std::uint64_t{1} << (index % 64);
    rules_.options_.push_back(std::move(option));
  }

  void read_shape(const toml::table& table) {
    SecretRules::Shape shape;
    const auto min = read_integer(table, "min", 1, mistakes_);
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
      if (shape.prefix.empty()) {
        rules_.shape_begins_.fill(true);
      } else {
        rules_.shape_begins_[static_cast<unsigned char>(shape.prefix.front())] = true;
      }
    }
  }

  void read_examples(const toml::table& table, const std::string& rule) {
    const std::size_t before = examples_.size();
    for_each_table(table, "test", mistakes_, [&](const toml::table& test) {
      check_keys(test, "test", {"argv", "masked"}, mistakes_);
      SecretExample example{rule, read_strings(test, "argv", true, mistakes_),
                            read_strings(test, "masked", true, mistakes_)};
      if (example.argv.empty() || example.argv.size() != example.masked.size()) {
        mistakes_.add(line_of(test), "\"argv\" and \"masked\" must have the same number of words, at least one");
      }
      examples_.push_back(std::move(example));
    });
    if (examples_.size() == before) examples_.push_back({rule, {}, {}});
  }

  RuleMistakes& mistakes_;
  SecretRules rules_;
  std::vector<SecretExample> examples_;
};

SecretRules SecretRules::parse(std::string_view toml, std::string_view origin) {
  SecretRules rules;
  read_rules(toml, origin, [&rules](const toml::table& root, RuleMistakes& mistakes) {
    SecretRulesReader reader(mistakes);
    reader.read(root);
    rules = std::move(reader.rules());
  });
  return rules;
}

SecretRules SecretRules::load(const std::filesystem::path& file) { return parse(read_rules_file(file), file.string()); }

const SecretRules& SecretRules::builtin() {
  static const SecretRules rules = parse(builtin_rules("secrets"), "rules/secrets.toml (built in)");
  return rules;
}

std::vector<SecretExample> read_secret_examples(std::string_view toml, std::string_view origin) {
  std::vector<SecretExample> examples;
  read_rules(toml, origin, [&examples](const toml::table& root, RuleMistakes& mistakes) {
    SecretRulesReader reader(mistakes);
    reader.read(root);
    examples = std::move(reader.examples());
  });
  return examples;
}

}  // namespace tracer::internal
