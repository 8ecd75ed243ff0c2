// SPDX-License-Identifier: Apache-2.0
#include "show/differing_words.hpp"

#include <algorithm>
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

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \t\n\r\f\v", at), text.size());
    if (end > at) words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

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
