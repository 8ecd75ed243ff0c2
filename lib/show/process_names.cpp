// SPDX-License-Identifier: Apache-2.0
#include "show/process_names.hpp"

#include <cstddef>

#include <fmt/format.h>

#include "show/differing_words.hpp"

namespace tracer::internal {

std::vector<std::string> process_names(const std::vector<ReportRow>& rows) {
  std::vector<ToolWords> commands;
  for (const ReportRow& row : rows) {
    const bool known = row.process && row.process->program->argv;
    commands.push_back({row.name, known ? *row.process->program->argv : std::vector<std::string>{}});
  }
  const std::vector<std::string> parts = differing_words(commands);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::string name = rows[i].name;
    if (rows[i].process) name += fmt::format(" {}", rows[i].process->pid);
    names.push_back(parts[i].empty() ? name : name + " " + parts[i]);
  }
  return names;
}

std::optional<std::string> joined_command(const Program& program) {
  std::string command;
  if (program.argv)
    for (const std::string& word : *program.argv) command += (command.empty() ? "" : " ") + word;
  return command.empty() ? program.exe : command;
}

}  // namespace tracer::internal
