// SPDX-License-Identifier: Apache-2.0
#include "context/command_name.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/shell_text.hpp"
#include "base/text.hpp"

namespace tracer::internal {
namespace {

/// A launcher may pass on a thousand files.
constexpr std::size_t kMostCommandBytes = 256;

std::string joined_words(std::string text, const std::vector<std::string>& words, std::size_t from) {
  for (std::size_t i = from; i < words.size() && text.size() < kMostCommandBytes; ++i)
    text += (text.empty() ? "" : " ") + words[i].substr(0, kMostCommandBytes);
  if (text.size() <= kMostCommandBytes) return text;
  std::size_t end = kMostCommandBytes;
  while (end != 0 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;
  return text.substr(0, end);
}

}  // namespace

std::string command_name(const Program& program) {
  const std::string tool = program.tool.value_or("");
  if (!program.argv || program.argv->empty()) return tool;
  const std::vector<std::string>& words = *program.argv;
  if (const std::size_t script = tool.ends_with(" -c") ? shell_text_in(words) : 0; script != 0)
    return joined_words("", words, script);
  // Interpreters and their options stand before the word that the tool is called by.
  const std::string name = tool.substr(0, tool.find(' '));
  const auto is_name = [&name](const std::string& word) { return base_name(word) == name; };
  const auto named = std::find_if(words.begin(), words.end(), is_name);
  if (named == words.end()) return joined_words(tool.empty() ? words.front() : tool, words, 1);
  return joined_words(name, words, static_cast<std::size_t>(named - words.begin()) + 1);
}

}  // namespace tracer::internal
