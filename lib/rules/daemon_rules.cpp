// SPDX-License-Identifier: Apache-2.0
#include "rules/daemon_rules.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "rules/builtin_rules.hpp"
#include "rules/rules_reader.hpp"

namespace tracer::internal {
namespace {

bool any_matches(const std::vector<std::string>& globs, std::string_view text) {
  return std::any_of(globs.begin(), globs.end(), [text](const auto& glob) { return glob_matches(glob, text); });
}

}  // namespace

bool DaemonRule::is_client(std::string_view called) const { return any_matches(clients, called); }
bool DaemonRule::is_seen_by(std::string_view what) const { return any_matches(seen_by, what); }

std::vector<DaemonRule> DaemonRules::parse(std::string_view toml, std::string_view origin) {
  std::vector<DaemonRule> rules;
  read_rules(toml, origin, [&rules](const toml::table& root, RuleMistakes& mistakes) {
    check_keys(root, "the file", {"schema", "daemon"}, mistakes);
    for_each_table(root, "daemon", mistakes, [&](const toml::table& table) {
      check_keys(table, "daemon", {"name", "clients", "seen_by", "test"}, mistakes);
      DaemonRule rule{read_string(table, "name", true, mistakes), read_strings(table, "clients", false, mistakes),
                      read_strings(table, "seen_by", false, mistakes)};
      if (const toml::table* test = read_test(table, {"clients", "others"}, mistakes)) {
        rule.example_clients = read_strings(*test, "clients", false, mistakes);
        rule.example_others = read_strings(*test, "others", false, mistakes);
      }
      rules.push_back(std::move(rule));
    });
  });
  return rules;
}

const std::vector<DaemonRule>& DaemonRules::builtin() {
  static const std::vector<DaemonRule> rules = parse(builtin_rules("daemons"), "rules/daemons.toml (built in)");
  return rules;
}

}  // namespace tracer::internal
