// SPDX-License-Identifier: Apache-2.0
#include "show/short_names.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/words.hpp"
#include "context/task_name.hpp"
#include "show/character_width.hpp"
#include "show/differing_words.hpp"
#include "show/screen.hpp"

namespace tracer::internal {
namespace {

void collect_launched(const std::vector<ReportNode>& nodes, std::vector<const ReportRow*>& rows) {
  for (const ReportNode& node : nodes) {
    if (node.level == SummaryLevel::kTask && node.row.task.task_key && !launcher_of(node.row.task).empty())
      rows.push_back(&node.row);
    collect_launched(node.below, rows);
  }
}

}  // namespace

ShortNames::ShortNames(const std::vector<ReportNode>& tree) {
  std::vector<const ReportRow*> rows;
  collect_launched(tree, rows);
  std::vector<ToolWords> commands;
  for (const ReportRow* row : rows) {
    const auto words = words_of(*row->task.task);
    ToolWords command{std::string(launcher_of(row->task)), {words.begin(), words.end()}};
    if (row->task.run_key) command.tool += ' ' + to_string(*row->task.run_key);
    if (!command.words.empty()) command.tool += ' ' + command.words.front();
    commands.push_back(std::move(command));
  }
  const std::vector<std::string> parts = differing_words(commands);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (parts[i].empty()) continue;
    const std::string launcher = std::string(launcher_of(rows[i]->task)) + ": ";
    // What tells it from others with the same command.
    const std::string name = own_task_name(rows[i]->task);
    const std::string end = rows[i]->name.starts_with(name) ? rows[i]->name.substr(name.size()) : "";
    names_[static_cast<std::uint64_t>(*rows[i]->task.task_key)] = {
        launcher + commands[i].words.front() + ' ' + symbols().ellipsis + ' ' + parts[i] + end,
        launcher + parts[i] + end};
  }
}

std::string ShortNames::fitting(const ReportRow& task, std::size_t columns) const {
  if (width_of(task.name) <= columns || !task.task.task_key) return task.name;
  const auto known = names_.find(static_cast<std::uint64_t>(*task.task.task_key));
  if (known == names_.end()) return task.name;
  const auto fits = std::find_if(known->second.begin(), known->second.end(),
                                 [columns](const std::string& name) { return width_of(name) <= columns; });
  return fits == known->second.end() ? known->second.back() : *fits;
}

}  // namespace tracer::internal
