// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tracer::internal {

/// One process of an example; the one before it in the list is its parent.
struct ExampleProcess {
  std::string exe;
  std::vector<std::string> argv;
  std::string cwd;
  std::string cgroup;
};

/// An example that an engine rule carries, so that the rules test themselves.
struct EngineExample {
  std::string rule;                           ///< The `name` of the rule it belongs to.
  std::size_t line = 0;                       ///< In the file.
  std::vector<ExampleProcess> processes;      ///< From an ancestor to the process that the example is about.
  std::map<std::string, std::string> notes;   ///< Files that the engine has written, by path.
  std::map<std::string, std::string> expect;  ///< Fields of its context, "label.NAME", "own" and "rule".
};

/// The examples of all rules of a file. Throws Error(kInvalidRules) for what is wrong in them.
std::vector<EngineExample> read_engine_examples(std::string_view toml, std::string_view origin);

}  // namespace tracer::internal
