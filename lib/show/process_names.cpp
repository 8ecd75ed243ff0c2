// SPDX-License-Identifier: Apache-2.0
#include "show/process_names.hpp"

#include <cstddef>
#include <map>
#include <set>

#include <fmt/format.h>

namespace tracer::internal {
namespace {

const std::vector<std::string>* words_of(const ReportRow& row) {
  return row.process && row.process->program->argv ? &*row.process->program->argv : nullptr;
}

/// How many processes of each tool have a word.
struct Tool {
  std::size_t processes = 0;
  std::map<std::string, std::size_t> having;
};

std::string distinct(const std::vector<std::string>& words, const Tool& tool) {
  std::string text;
  for (std::size_t i = 1; i < words.size(); ++i)
    if (tool.having.at(words[i]) < tool.processes) text += (text.empty() ? "" : " ") + words[i];
  return text;
}

}  // namespace

std::vector<std::string> process_names(const std::vector<ReportRow>& rows) {
  std::map<std::string, Tool> tools;
  for (const ReportRow& row : rows) {
    Tool& tool = tools[row.name];
    ++tool.processes;
    const auto* words = words_of(row);
    if (words == nullptr) continue;
    for (const std::string& word : std::set<std::string>(words->begin(), words->end())) ++tool.having[word];
  }
  std::vector<std::string> names;
  for (const ReportRow& row : rows) {
    std::string name = row.name;
    if (row.process) name += fmt::format(" {}", row.process->pid);
    const auto* words = words_of(row);
    const std::string part = words == nullptr ? "" : distinct(*words, tools.at(row.name));
    names.push_back(part.empty() ? name : name + " " + part);
  }
  return names;
}

}  // namespace tracer::internal
