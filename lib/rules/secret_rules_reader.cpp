// SPDX-License-Identifier: Apache-2.0
#include "rules/secret_rules_reader.hpp"

#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "rules/builtin_rules.hpp"
#include "rules/rules_reader.hpp"
#include "rules/secret_rules.hpp"
#include "rules/secret_text.hpp"

namespace tracer::internal {

using namespace secret_text;

/// Turns a TOML document into rules and their examples.
class SecretRulesReader {
 public:
  explicit SecretRulesReader(RuleMistakes& mistakes) : mistakes_(mistakes) {}

  SecretRules& rules() { return rules_; }
  std::vector<SecretExample>& examples() { return examples_; }

  void read(const toml::table& root) {
    check_keys(root, "the file", {"schema", "name", "option", "command", "parameter", "header", "url", "shape"},
               mistakes_);
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
