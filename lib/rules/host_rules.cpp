// SPDX-License-Identifier: Apache-2.0
#include "rules/host_rules.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "rules/builtin_rules.hpp"
#include "rules/rules_reader.hpp"

namespace tracer::internal {

/// Turns a TOML document into rules and their examples.
class HostRulesReader {
 public:
  explicit HostRulesReader(RuleMistakes& mistakes) : mistakes_(mistakes) {}

  HostRules& rules() { return rules_; }

  void read(const toml::table& root) {
    check_keys(root, "the file", {"schema", "host"}, mistakes_);
    for_each_table(root, "host", mistakes_, [this](const toml::table& table) { read_rule(table); });
  }

 private:
  void read_rule(const toml::table& table) {
    check_keys(table, "host", {"provider", "dmi", "also", "instance_type", "instance_id", "test"}, mistakes_);
    HostRules::Rule rule;
    rule.provider = read_string(table, "provider", true, mistakes_);
    rule.dmi = read_patterns(table, "dmi");
    rule.also = read_patterns(table, "also");
    if (rule.dmi.empty()) mistakes_.add(line_of(table), "a host needs dmi = { file = pattern }");
    rule.instance_type = read_template(table, "instance_type", rule);
    rule.instance_id = read_template(table, "instance_id", rule);
    if (!table.contains("test")) mistakes_.add(line_of(table), "a host needs test = [examples]");
    for_each_table(table, "test", mistakes_, [&](const toml::table& example) { read_example(example, rule.provider); });
    rules_.rules_.push_back(std::move(rule));
  }

  std::map<std::string, std::string> read_texts(const toml::table& table, std::string_view key) {
    std::map<std::string, std::string> texts;
    const toml::node* const node = table.get(key);
    if (node == nullptr) return texts;
    if (!node->is_table()) {
      mistakes_.add(line_of(*node), fmt::format("{} must be a table", key));
      return texts;
    }
    for (const auto& [file, value] : *node->as_table()) {
      if (file.str().empty() || file.str().find('/') != std::string_view::npos) {
        mistakes_.add(line_of(value), fmt::format("\"{}\" is no name of a file", file.str()));
      } else {
        texts.emplace(file.str(), read_string(*node->as_table(), file.str(), true, mistakes_));
      }
    }
    return texts;
  }

  std::vector<HostRules::File> read_patterns(const toml::table& table, std::string_view key) {
    std::vector<HostRules::File> files;
    for (auto& [file, text] : read_texts(table, key)) {
      try {
        files.push_back({file, Pattern(text)});
      } catch (const std::invalid_argument& error) {
        mistakes_.add(line_of(*table.get(key)), fmt::format("\"{}\": {}", text, error.what()));
      }
    }
    return files;
  }

  std::optional<Template> read_template(const toml::table& table, std::string_view key, const HostRules::Rule& rule) {
    if (!table.contains(key)) return std::nullopt;
    const std::string text = read_string(table, key, true, mistakes_);
    try {
      Template made(text);
      for (const std::string& name : made.names())
        if (!captures(rule.dmi, name) && !captures(rule.also, name))
          mistakes_.add(line_of(*table.get(key)), fmt::format("\"{}\": no pattern captures {}", text, name));
      return made;
    } catch (const std::invalid_argument& error) {
      mistakes_.add(line_of(*table.get(key)), fmt::format("\"{}\": {}", text, error.what()));
      return std::nullopt;
    }
  }

  static bool captures(const std::vector<HostRules::File>& files, const std::string& name) {
    return std::any_of(files.begin(), files.end(), [&](const HostRules::File& file) {
      const auto names = file.pattern.names();
      return std::find(names.begin(), names.end(), name) != names.end();
    });
  }

  void read_example(const toml::table& example, const std::string& provider) {
    check_keys(example, "test", {"dmi", "instance_type", "instance_id"}, mistakes_);
    HostIdentity identity;
    identity.provider = provider;
    if (example.contains("instance_type"))
      identity.instance_type = read_string(example, "instance_type", true, mistakes_);
    if (example.contains("instance_id")) identity.instance_id = read_string(example, "instance_id", true, mistakes_);
    rules_.examples_.push_back({read_texts(example, "dmi"), std::move(identity)});
  }

  RuleMistakes& mistakes_;
  HostRules rules_;
};

HostRules HostRules::parse(std::string_view toml, std::string_view origin) {
  HostRules rules;
  read_rules(toml, origin, [&rules](const toml::table& root, RuleMistakes& mistakes) {
    HostRulesReader reader(mistakes);
    reader.read(root);
    rules = std::move(reader.rules());
  });
  return rules;
}

const HostRules& HostRules::builtin() {
  static const HostRules rules = parse(builtin_rules("hosts"), "rules/hosts.toml (built in)");
  return rules;
}

HostIdentity HostRules::identity_of(const ReadDmi& read) const {
  const auto matches = [&read](const File& file, Captures& captures) {
    const auto text = read(file.name);
    return text && file.pattern.matches(trim(*text), captures);
  };
  const auto filled = [](const std::optional<Template>& text, const Captures& captures) -> std::optional<std::string> {
    std::string made = text ? text->fill(captures) : std::string();
    if (made.empty()) return std::nullopt;
    return made;
  };
  for (const Rule& rule : rules_) {
    Captures captures;
    const auto fits = [&](const File& file) { return matches(file, captures); };
    if (!std::all_of(rule.dmi.begin(), rule.dmi.end(), fits)) continue;
    for (const File& file : rule.also) matches(file, captures);
    return {rule.provider, filled(rule.instance_type, captures), filled(rule.instance_id, captures)};
  }
  return {};
}

}  // namespace tracer::internal
