// SPDX-License-Identifier: Apache-2.0
#include "report/sums/task_tree.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "base/tool_name.hpp"
#include "context/layers.hpp"
#include "context/task_name.hpp"
#include "report/sums/identities.hpp"
#include "report/sums/rows.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostPaths = 4096;
constexpr std::string_view kItself = " itself)";

/// Of a step: what the largest of its tasks held. `own`: something of it is in no task.
void take_largest_peak(SummaryNode& step, bool own) {
  std::vector<PeakBounds> peaks;
  if (own) peaks.push_back(peak_of(step.row));
  for (const SummaryNode& task : step.below)
    if (task.level == SummaryLevel::kTask) peaks.push_back(peak_of(task.row));
  if (!peaks.empty()) set_peak(step.row, std::accumulate(peaks.begin(), peaks.end(), peaks.front(), larger_of));
}

/// Tools by CPU, all else by duration.
bool comes_before(const SummaryNode& a, const SummaryNode& b) {
  const bool tools = a.level >= SummaryLevel::kTool;
  if (tools != (b.level >= SummaryLevel::kTool)) return !tools;
  return tools ? a.row.cpu_ns > b.row.cpu_ns : a.row.wall_ns > b.row.wall_ns;
}

/// Levels that are left out put nodes of different levels side by side.
std::string node_key(SummaryLevel level, const std::string& key) {
  return std::to_string(static_cast<int>(level)) + key;
}

}  // namespace

std::string engine_of(const std::string& row_name) {
  if (!row_name.starts_with('(') || !row_name.ends_with(kItself)) return {};
  return row_name.substr(1, row_name.size() - 1 - kItself.size());
}

std::string counted_as(const Context& context, const ProgramAccount& program) {
  const std::string tool = program.program->tool.value_or(kNoTool);
  if (!program.engine_own) return tool;
  return "(" + context.engine.value_or(tool) + std::string(kItself);
}

std::string counted_as(const OwnWork& work) {
  const Program& program = *work.process->program;
  return known_tool(program).value_or(kNoTool) + " (this process)";
}

TaskTree::Node& TaskTree::below(std::map<std::string, Node>& nodes, SummaryLevel level, const std::string& key,
                                const std::string& name) {
  Node& node = nodes[node_key(level, key)];
  node.level = level;
  if (!name.empty()) node.name = name;
  return node;
}

const std::vector<TaskTree::Node*>& TaskTree::path_of(const Context& identity,
                                                      const std::shared_ptr<const Context>& shared) {
  const auto known = known_.find(shared.get());
  if (known != known_.end()) return known->second.path;
  if (known_.size() >= kMostPaths) known_.clear();
  std::vector<Node*> path;
  const auto descend = [&](SummaryLevel level, const std::string& key, const std::string& name) {
    auto& nodes = path.empty() ? runs_ : path.back()->below;
    path.push_back(&below(nodes, level, key, name));
  };
  if (is_run(identity)) {
    descend(SummaryLevel::kRun, run_key(identity), run_name(identity));
    path.back()->identity = run_of(identity);
    path.back()->of_command = !identity.pipeline && shared->provenance.run == Provenance::kInferred;
  }
  if (identity.step) descend(SummaryLevel::kStep, *identity.step, *identity.step);
  if (is_in_task(identity)) {
    const std::string name = own_task_name(identity);
    // Its name may come later than its id.
    const std::string key =
        identity.task_id ? *identity.task_id + '\n' + std::to_string(identity.attempt.value_or(1)) : name;
    descend(SummaryLevel::kTask, key, name);
    path.back()->identity = identity;
  } else if (identity.step) {
    // What is in no task is one with all of the step that isn't.
    path.back()->identity = identity;
  }
  return known_.emplace(shared.get(), Known{shared, std::move(path)}).first->second.path;
}

TaskTree::Node& TaskTree::tool_of(const std::vector<Node*>& path, SummaryLevel level, std::string name) {
  auto& nodes = path.back()->below;
  if (!nodes.contains(node_key(level, name))) {
    if (nodes.size() >= Summary::kMostTools || tool_rows_ >= Summary::kMostToolRows) {
      name = kOthers;
    } else {
      ++tool_rows_;
    }
  }
  return below(nodes, level, name, name);
}

TaskTree::Node& TaskTree::tool_of(const std::vector<Node*>& path, const Context& context,
                                  const ProgramAccount& program) {
  return tool_of(path, program.engine_own ? SummaryLevel::kEngine : SummaryLevel::kTool, counted_as(context, program));
}

void TaskTree::visit(const Context& identity, const std::shared_ptr<const Context>& context,
                     const ProgramAccount& program, const Visit& visit) {
  const auto& path = path_of(identity, context);
  if (path.empty()) return;
  for (Node* node : path) visit(node->sums, false);
  visit(tool_of(path, *context, program).sums, true);
}

void TaskTree::visit(const Context& identity, const OwnWork& work, const Visit& visit) {
  const auto& path = path_of(identity, work.process->context);
  if (path.empty()) return;
  for (Node* node : path) visit(node->sums, false);
  visit(tool_of(path, SummaryLevel::kTool, counted_as(work)).sums, true);
}

void TaskTree::visit_memory(const Context& identity, const std::shared_ptr<const Context>& context,
                            const ProgramAccount* program, const VisitMemory& visit) {
  const auto& path = path_of(identity, context);
  if (path.empty()) return;
  for (Node* node : path)
    if (node->level != SummaryLevel::kStep || node == path.back()) visit(node->sums.memory);
  if (program != nullptr) visit(tool_of(path, *context, *program).sums.memory);
}

void TaskTree::visit_tools(std::map<std::string, Node>& nodes, const std::string& name, const VisitMemory& visit) {
  for (auto& [key, node] : nodes) {
    const bool is_tool = node.level >= SummaryLevel::kTool;
    if (is_tool && (node.name == name || node.name == kOthers)) visit(node.sums.memory);
    visit_tools(node.below, name, visit);
  }
}

void TaskTree::request(const Context& identity, const std::shared_ptr<const Context>& task,
                       const Requested& requested) {
  if (requested == Requested{} || identity.task == kOtherTasks) return;
  const auto& path = path_of(identity, task);
  if (!path.empty() && path.back()->level == SummaryLevel::kTask) path.back()->requested = requested;
}

void TaskTree::spend(const Context& identity, const std::shared_ptr<const Context>& context, SummaryLevel level,
                     const TaskLedger& ledger, const std::vector<AwaitedTask>& waits_for) {
  if (level == SummaryLevel::kTask && identity.task == kOtherTasks) return;
  const auto& path = path_of(identity, context);
  // The only task of a step may have no row of its own.
  const auto is_meant = [&](const Node* node) {
    return node->level == level ||
           (level == SummaryLevel::kTask && node == path.back() && node->level == SummaryLevel::kStep);
  };
  for (Node* node : path) {
    if (!is_meant(node)) continue;
    node->sums.row.task_ledger = ledger;
    node->sums.row.waits_for = waits_for;
  }
}

/// All tools in a run, straight below another.
void TaskTree::move_tools(const Node& from, Node& to) {
  for (const auto& [key, each] : from.below) {
    if (each.level < SummaryLevel::kTool) {
      move_tools(each, to);
      continue;
    }
    if (each.name != kOthers && tool_rows_ != 0) --tool_rows_;
    add_sums(tool_of({&to}, each.level, each.name).sums, each.sums);
  }
}

void TaskTree::fold_runs(const std::set<std::string>& keys) {
  known_.clear();
  for (const std::string& key : keys) {
    const auto folded = runs_.extract(node_key(SummaryLevel::kRun, key));
    if (folded.empty()) continue;
    Node& earlier = below(runs_, SummaryLevel::kRun, kEarlierRuns, "");
    ++earlier.folded;
    earlier.name = std::to_string(earlier.folded) + " earlier " + (earlier.folded == 1 ? "run" : "runs");
    earlier.identity.run = kEarlierRuns;
    add_sums(earlier.sums, folded.mapped().sums);
    move_tools(folded.mapped(), earlier);
  }
}

bool TaskTree::has_tasks(const Node& run) {
  return std::any_of(run.below.begin(), run.below.end(),
                     [](const auto& each) { return each.second.level < SummaryLevel::kTool; });
}

SummaryNode TaskTree::shown_node(const Node& node, bool whole) {
  SummaryNode made;
  made.level = node.level;
  made.row = shown(node.sums, whole);
  made.row.name = node.name;
  made.row.requested = node.requested;
  made.row.task = node.identity;
  for (const auto& [key, each] : node.below) made.below.push_back(shown_node(each, whole));
  if (node.level == SummaryLevel::kStep) {
    take_largest_peak(made, node.identity != Context{});
    for (const SummaryNode& task : made.below) add_task_ledger(made.row, task.row.task_ledger);
  }
  // All that is in a run may be one task, and the run no event.
  if (node.level == SummaryLevel::kRun && !made.row.task_ledger && made.below.size() == 1 &&
      made.below[0].row.processes == made.row.processes)
    made.row.task_ledger = made.below[0].row.task_ledger;
  std::stable_sort(made.below.begin(), made.below.end(), comes_before);
  return made;
}

std::vector<SummaryNode> TaskTree::nodes(bool whole) const {
  std::vector<SummaryNode> all;
  // A run that only follows from the command, and in which there are no tasks, says no more than its tools.
  for (const auto& [key, each] : runs_)
    if (!each.of_command || has_tasks(each)) all.push_back(shown_node(each, whole));
  std::stable_sort(all.begin(), all.end(), comes_before);
  return all;
}

}  // namespace tracer::internal
