// SPDX-License-Identifier: Apache-2.0
#include "rules/engines/engine_examples.hpp"

#include <utility>

#include <fmt/format.h>

#include "rules/rules_reader.hpp"

namespace tracer::internal {
namespace {

std::map<std::string, std::string> read_texts(const toml::table& table, std::string_view key, RuleMistakes& mistakes) {
  std::map<std::string, std::string> texts;
  const toml::node* node = table.get(key);
  if (node == nullptr) return texts;
  const toml::table* inner = node->as_table();
  if (inner == nullptr) {
    mistakes.add(line_of(*node), fmt::format("\"{}\" must be a table", key));
    return texts;
  }
  for (const auto& [name, value] : *inner) {
    if (const auto text = value.value_exact<std::string>()) {
      texts.emplace(name.str(), *text);
    } else {
      mistakes.add(line_of(value), fmt::format("\"{}\" must hold strings only", key));
    }
  }
  return texts;
}

EngineExample read_example(const toml::table& table, const std::string& rule, RuleMistakes& mistakes) {
  check_keys(table, "test", {"processes", "notes", "expect"}, mistakes);
  EngineExample example{
      rule, line_of(table), {}, read_texts(table, "notes", mistakes), read_texts(table, "expect", mistakes)};
  for_each_table(table, "processes", mistakes, [&](const toml::table& process) {
    check_keys(process, "processes", {"exe", "argv", "cwd", "cgroup"}, mistakes);
    example.processes.push_back(
        {read_string(process, "exe", false, mistakes), read_strings(process, "argv", true, mistakes),
         read_string(process, "cwd", false, mistakes), read_string(process, "cgroup", false, mistakes)});
  });
  if (example.processes.empty() || example.expect.empty())
    mistakes.add(line_of(table), "a test needs \"processes\" and \"expect\"");
  return example;
}

}  // namespace

std::vector<EngineExample> read_engine_examples(std::string_view toml, std::string_view origin) {
  std::vector<EngineExample> examples;
  read_rules(toml, origin, [&](const toml::table& root, RuleMistakes& mistakes) {
    for_each_table(root, "rule", mistakes, [&](const toml::table& rule) {
      const std::string name = rule["name"].value_or(std::string());
      for_each_table(rule, "test", mistakes,
                     [&](const toml::table& test) { examples.push_back(read_example(test, name, mistakes)); });
    });
  });
  return examples;
}

}  // namespace tracer::internal
