// SPDX-License-Identifier: Apache-2.0
#include "rules/finding_rules.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "rules/builtin_rules.hpp"
#include "rules/rules_reader.hpp"

namespace tracer::internal {
namespace {

bool matches_any(const std::vector<std::string>& globs, std::string_view text) {
  return std::any_of(globs.begin(), globs.end(), [text](const auto& glob) { return glob_matches(glob, text); });
}

}  // namespace

/// Turns a TOML document into rules and their examples.
class FindingRulesReader {
 public:
  explicit FindingRulesReader(RuleMistakes& mistakes) : mistakes_(mistakes) {}

  FindingRules& rules() { return rules_; }

  void read(const toml::table& root) {
    check_keys(root, "the file", {"schema", "finding", "normal", "trying"}, mistakes_);
    for_each_table(root, "finding", mistakes_, [this](const toml::table& table) { read_finding(table); });
    for_each_table(root, "normal", mistakes_, [this](const toml::table& table) { read_normal(table); });
    for_each_table(root, "trying", mistakes_, [this](const toml::table& table) {
      check_keys(table, "trying", {"tools", "test"}, mistakes_);
      for (std::string& tool : read_strings(table, "tools", false, mistakes_))
        rules_.trying_.push_back(std::move(tool));
      const toml::table* test = read_test(table, {"trying", "working"}, mistakes_);
      if (test == nullptr) return;
      for (const auto& [key, tries] : {std::pair("trying", true), {"working", false}})
        for (std::string& name : read_strings(*test, key, false, mistakes_))
          rules_.trying_examples_.push_back({std::move(name), tries});
    });
  }

 private:
  void read_finding(const toml::table& table) {
    check_keys(table, "finding", {"code", "severity", "text", "advice", "advice_for", "limits"}, mistakes_);
    FindingRule rule{read_string(table, "code", true, mistakes_),
                     read_string(table, "severity", true, mistakes_),
                     read_string(table, "text", true, mistakes_),
                     read_string(table, "advice", false, mistakes_),
                     {},
                     {}};
    if (const toml::table* engines = table["advice_for"].as_table())
      for (const auto& [engine, advice] : *engines)
        rule.advice_for.emplace(std::string(engine.str()), read_string(*engines, engine.str(), true, mistakes_));
    if (rule.severity != "error" && rule.severity != "warning" && rule.severity != "note")
      mistakes_.add(line_of(table), fmt::format("severity of \"{}\" is not error, warning or note", rule.code));
    if (rules_.rule_of(rule.code) != nullptr)
      mistakes_.add(line_of(table), fmt::format("\"{}\" is there twice", rule.code));
    if (const toml::node* limits = table.get("limits")) {
      const toml::table* values = limits->as_table();
      if (values == nullptr) {
        mistakes_.add(line_of(*limits), "limits must be a table of numbers");
      } else {
        for (const auto& [name, value] : *values) {
          const std::int64_t number = read_integer(*values, name.str(), -1, mistakes_);
          if (number < 0) mistakes_.add(line_of(value), fmt::format("\"{}\" must be 0 or more", name.str()));
          rule.limits.emplace(std::string(name.str()), static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0)));
        }
      }
    }
    rules_.rules_.push_back(std::move(rule));
  }

  void read_normal(const toml::table& table) {
    check_keys(table, "normal", {"codes", "tools", "why", "test"}, mistakes_);
    FindingRules::Normal normal{read_strings(table, "codes", false, mistakes_),
                                read_strings(table, "tools", false, mistakes_)};
    read_string(table, "why", true, mistakes_);
    for (const std::string& code : normal.codes)
      if (rules_.rule_of(code) == nullptr)
        mistakes_.add(line_of(table), fmt::format("there is no [[finding]] with the code \"{}\" above", code));
    if (const toml::table* test = read_test(table, {"normal", "wrong"}, mistakes_)) {
      for (const auto& [key, is_normal] : {std::pair("normal", true), {"wrong", false}})
        for (const std::string& tool : read_strings(*test, key, false, mistakes_))
          for (const std::string& code : normal.codes) rules_.examples_.push_back({code, tool, is_normal});
    }
    rules_.normal_.push_back(std::move(normal));
  }

  RuleMistakes& mistakes_;
  FindingRules rules_;
};

FindingRules FindingRules::parse(std::string_view toml, std::string_view origin) {
  FindingRules rules;
  read_rules(toml, origin, [&rules](const toml::table& root, RuleMistakes& mistakes) {
    FindingRulesReader reader(mistakes);
    reader.read(root);
    rules = std::move(reader.rules());
  });
  return rules;
}

const FindingRules& FindingRules::builtin() {
  static const FindingRules rules = parse(builtin_rules("findings"), "rules/findings.toml (built in)");
  return rules;
}

const FindingRule* FindingRules::rule_of(std::string_view code) const noexcept {
  const auto rule = std::find_if(rules_.begin(), rules_.end(), [code](const auto& each) { return each.code == code; });
  return rule == rules_.end() ? nullptr : &*rule;
}

std::uint64_t FindingRules::limit(std::string_view code, std::string_view name) const noexcept {
  const FindingRule* rule = rule_of(code);
  if (rule == nullptr) return 0;
  for (const auto& [known, value] : rule->limits)
    if (known == name) return value;
  return 0;
}

bool FindingRules::is_normal(std::string_view code, std::string_view tool) const {
  return std::any_of(normal_.begin(), normal_.end(), [&](const Normal& each) {
    return std::find(each.codes.begin(), each.codes.end(), code) != each.codes.end() && matches_any(each.tools, tool);
  });
}

bool FindingRules::tries(std::string_view name) const {
  return std::any_of(trying_.begin(), trying_.end(),
                     [name](const auto& glob) { return glob_matches(glob, name, Brackets::kClasses); });
}

}  // namespace tracer::internal
