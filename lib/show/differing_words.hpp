// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tracer::internal {

/// A command, by its tool.
struct ToolWords {
  std::string tool;
  std::vector<std::string> words;  ///< The first is the program itself.
};

/// For each command the words that not all commands of its tool have, without the program itself.
std::vector<std::string> differing_words(const std::vector<ToolWords>& commands);

}  // namespace tracer::internal
