// SPDX-License-Identifier: Apache-2.0
#include "report/task_names.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "context/task_name.hpp"
#include "report/sums/rows.hpp"

namespace tracer::internal {
namespace {

/// The tool that consumed most in it.
std::string main_tool(const ReportNode& node) {
  const ReportNode* most = nullptr;
  const auto cpu_of = [](const ReportNode& each) { return each.row.cpu_ns ? each.row.cpu_ns->value : 0; };
  for (const ReportNode& each : node.below)
    if (each.level == SummaryLevel::kTool && (most == nullptr || cpu_of(each) > cpu_of(*most))) most = &each;
  return most == nullptr ? "" : most->row.name;
}

std::string task_row_name(const ReportNode& task) {
  Context context = task.row.task;
  if (context.task || context.sample) return own_task_name(context);
  // All of its step.
  if (!context.task_id) return context.step.value_or("");
  std::string tool = main_tool(task);
  if (context.engine && is_scheduler(*context.engine))
    return name_in_step(context.step.value_or(""), own_task_name(context)) + (tool.empty() ? "" : ": " + tool);
  if (!tool.empty()) context.task = std::move(tool);
  const std::string name = own_task_name(context);
  return name.empty() ? process_name(context) : name;
}

bool is_one_task(const ReportNode& node) {
  return node.level == SummaryLevel::kTask && node.row.task.task != kOtherTasks;
}

}  // namespace

void name_tasks(std::vector<ReportNode>& nodes) {
  std::map<std::string, std::vector<ReportRow*>> tasks;
  for (ReportNode& node : nodes) {
    name_tasks(node.below);
    if (!is_one_task(node)) continue;
    node.row.name = task_row_name(node);
    tasks[node.row.name].push_back(&node.row);
  }
  for (auto& [name, rows] : tasks) {
    if (rows.size() == 1) continue;
    std::stable_sort(rows.begin(), rows.end(),
                     [](const ReportRow* a, const ReportRow* b) { return a->first_start_ns < b->first_start_ns; });
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string process = process_name(rows[i]->task);
      rows[i]->name += process.empty() ? " #" + std::to_string(i + 1) : " (" + process + ")";
    }
  }
}

}  // namespace tracer::internal
