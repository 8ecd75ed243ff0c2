// SPDX-License-Identifier: Apache-2.0
#include "history/script.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <string_view>

#include "base/declared_task.hpp"
#include "base/text.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
constexpr std::string_view kSpace = " \t\r\n";
/// A word with one of these is code.
constexpr std::string_view kCode = "\"'`()[]{}<>|&;$*?!\\";
/// Endings of files that say what is done, not with what.
constexpr std::array<std::string_view, 25> kPrograms = {
    "py", "sh",  "bash", "R",   "r",     "pl",  "jl", "rb",   "js",  "lua",  "m",    "sql", "awk",
    "nf", "smk", "wdl",  "cwl", "ipynb", "jar", "mk", "yaml", "yml", "json", "toml", "ini"};

bool is_letter(unsigned char each) { return std::isalpha(each) != 0; }
bool is_letter_or_digit(unsigned char each) { return std::isalnum(each) != 0; }

/// "0.1" has none.
std::string_view ending_of(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == kNone || dot == 0 || dot + 1 == name.size()) return {};
  const std::string_view ending = name.substr(dot + 1);
  const bool is_one =
      is_letter(static_cast<unsigned char>(ending[0])) && std::all_of(ending.begin(), ending.end(), is_letter_or_digit);
  return is_one ? ending : std::string_view();
}

/// Where the name of a file with data begins: in "--out=/data/S1.bam" behind the "=". kNone: there is none.
std::size_t data_in(std::string_view word) {
  std::size_t from = word.find('=') + 1;
  if (from == 0 && word.starts_with('-')) from = std::min(word.find('/'), word.size());
  const std::string_view value = word.substr(from);
  const std::string_view ending = ending_of(base_name(value));
  const bool has_folder = value.find('/') != kNone && std::any_of(value.begin(), value.end(), is_letter);
  const bool is_data = (has_folder || !ending.empty()) && value.find_first_of(kCode) == kNone &&
                       std::find(kPrograms.begin(), kPrograms.end(), ending) == kPrograms.end();
  return is_data ? from : kNone;
}

/// The tool is called after this file: "run.sh", or "timeout run.sh", after "projA/run.sh".
bool is_of_tool(std::string_view file, std::string_view tool) {
  const std::string_view name = base_name(file);
  if (name.empty() || !tool.ends_with(name)) return false;
  return name.size() == tool.size() ||
         (tool[tool.size() - name.size() - 1] == ' ' && file.find_first_of("./") != kNone);
}

}  // namespace

bool names_kind(const Context& context) {
  if (!context.step) return context.pipeline && !context.task_key;
  return !(context.engine && is_launcher(*context.engine)) || context.provenance.step > Provenance::kInferred;
}

std::optional<Script> script_of(const Program& program) {
  if (!program.argv || !program.exe || !program.cwd) return std::nullopt;
  Script script{*program.exe, {}};
  bool says_all = false;
  for (std::size_t i = 1; i < program.argv->size(); ++i) {
    const std::string_view word = (*program.argv)[i];
    const std::string_view file = word.starts_with('-') ? word.substr(word.find('=') + 1) : word;
    if (script.path == *program.exe && is_of_tool(file, program.tool.value_or(""))) {
      script.path = (std::filesystem::path(*program.cwd) / file).lexically_normal();
      says_all = true;
      continue;
    }
    // One with several words is code, or a command: what is in it is looked at likewise.
    for (std::size_t at = 0; (at = word.find_first_not_of(kSpace, at)) != kNone;) {
      const std::string_view part = word.substr(at, word.find_first_of(kSpace, at) - at);
      at += part.size();
      const std::size_t data = data_in(part);
      says_all = says_all || (data != kNone && part.size() == word.size());
      script.shape.append(part.substr(0, data));
      if (data != kNone) script.shape.append("*.").append(ending_of(base_name(part)));
      script.shape += ' ';
    }
    script.shape += '\n';
  }
  if (!says_all) script.shape += *program.cwd;
  return script;
}

}  // namespace tracer::internal
