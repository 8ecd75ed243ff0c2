// SPDX-License-Identifier: Apache-2.0
#include "context/command_name.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

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

/// Where the script is: the first word that is neither an option nor the value of one ("-eu -o pipefail -c SCRIPT").
/// 0: there is none.
std::size_t script_in(const std::vector<std::string>& words) {
  bool has_script = false;
  std::size_t i = 1;
  while (i < words.size() && words[i].size() > 1 && (words[i].front() == '-' || words[i].front() == '+')) {
    const std::string& option = words[i++];
    if (option == "--") break;
    const bool is_long = option.starts_with("--");
    has_script = has_script || (!is_long && option.front() == '-' && option.find('c') != std::string::npos);
    const auto takes_value = [](char letter) { return letter == 'o' || letter == 'O'; };
    if (is_long) {
      i += option == "--rcfile" || option == "--init-file" ? 1 : 0;
    } else {
      i += static_cast<std::size_t>(std::count_if(option.begin(), option.end(), takes_value));
    }
  }
  return has_script && i < words.size() ? i : 0;
}

}  // namespace

std::string command_name(const Program& program) {
  const std::string tool = program.tool.value_or("");
  if (!program.argv || program.argv->empty()) return tool;
  const std::vector<std::string>& words = *program.argv;
  if (const std::size_t script = tool.ends_with(" -c") ? script_in(words) : 0; script != 0)
    return joined_words("", words, script);
  // Interpreters and their options stand before the word that the tool is called by.
  const std::string name = tool.substr(0, tool.find(' '));
  const auto is_name = [&name](const std::string& word) { return base_name(word) == name; };
  const auto named = std::find_if(words.begin(), words.end(), is_name);
  if (named == words.end()) return joined_words(tool.empty() ? words.front() : tool, words, 1);
  return joined_words(name, words, static_cast<std::size_t>(named - words.begin()) + 1);
}

}  // namespace tracer::internal
