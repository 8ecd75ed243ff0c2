// SPDX-License-Identifier: Apache-2.0
#include "show/differing_words.hpp"

#include <cstddef>
#include <map>
#include <set>

namespace tracer::internal {
namespace {

/// How many commands of a tool have a word.
struct Tool {
  std::size_t commands = 0;
  std::map<std::string, std::size_t> having;
};

}  // namespace

std::vector<std::string> differing_words(const std::vector<ToolWords>& commands) {
  std::map<std::string, Tool> tools;
  for (const ToolWords& each : commands) {
    Tool& tool = tools[each.tool];
    ++tool.commands;
    for (const std::string& word : std::set(each.words.begin(), each.words.end())) ++tool.having[word];
  }
  std::vector<std::string> texts;
  for (const ToolWords& each : commands) {
    const Tool& tool = tools.at(each.tool);
    std::string text;
    for (std::size_t i = 1; i < each.words.size(); ++i)
      if (tool.having.at(each.words[i]) < tool.commands) text += (text.empty() ? "" : " ") + each.words[i];
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace tracer::internal
