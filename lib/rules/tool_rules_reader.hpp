// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tracer::internal {

/// An example that a tool rule carries, so that the rules test themselves.
struct ToolExample {
  std::string rule;  ///< The `name` of the rule it belongs to.
  std::string exe;
  std::vector<std::string> argv;
  std::string comm;
  std::string name;  ///< What ToolRules::name() must return; empty where the rule has no example at all.
};

/// The examples of all rules of a file; a rule without any has one whose `name` is empty. Throws as ToolRules::parse().
std::vector<ToolExample> read_tool_examples(std::string_view toml, std::string_view origin);

}  // namespace tracer::internal
