// SPDX-License-Identifier: Apache-2.0
#include "report/sums/task_tree.hpp"

#include <algorithm>
#include <optional>
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

/// Tools by CPU, all else by duration.
bool comes_before(const SummaryNode& a, const SummaryNode& b) {
  const bool tools = a.level >= SummaryLevel::kTool;
  if (tools != (b.level >= SummaryLevel::kTool)) return !tools;
  return tools ? a.row.cpu_ns > b.row.cpu_ns : a.row.wall_ns > b.row.wall_ns;
}

/// Nodes of different levels lie side by side.
std::string node_key(SummaryLevel level, const std::string& key) {
  return std::to_string(static_cast<int>(level)) + key;
}

/// Of a task. Its name may come later than its id.
std::string task_key(const Context& identity) {
  if (!identity.task_id)
    return node_key(SummaryLevel::kTask, identity.step.value_or("") + '\n' + own_task_name(identity));
  return node_key(SummaryLevel::kTask, *identity.task_id + '\n' + std::to_string(identity.attempt.value_or(1)));
}

}  // namespace

std::string engine_of(const std::string& row_name) {
  if (!row_name.starts_with('(') || !row_name.ends_with(kItself)) return {};
  return row_name.substr(1, row_name.size() - 1 - kItself.size());
}

std::string counted_as(const Context& context, const ProgramAccount& program) {
  const std::string tool = known_tool(*program.program).value_or(kNoTool);
  if (!program.engine_own) return tool;
  return "(" + context.engine.value_or(tool) + std::string(kItself);
}

std::string counted_as(const OwnWork& work) {
  const Program& program = *work.process->program;
  return known_tool(program).value_or(kNoTool) + " (this process)";
}

TaskTree::Node& TaskTree::below(std::map<std::string, Node>& nodes, SummaryLevel level, const std::string& key,
                                const std::string& name) {
  Node& node = nodes[key];
  node.level = level;
  if (!name.empty()) node.name = name;
  return node;
}

/// A task lies straight below its run: its step may become known later.
const std::vector<TaskTree::Node*>& TaskTree::path_of(const Context& identity,
                                                      const std::shared_ptr<const Context>& shared) {
  const auto known = known_.find(shared.get());
  if (known != known_.end()) return known->second.path;
  if (known_.size() >= kMostPaths) known_.clear();
  std::vector<Node*> path;
  auto* nodes = &runs_;
  if (is_run(identity)) {
    Node& run = below(runs_, SummaryLevel::kRun, node_key(SummaryLevel::kRun, run_key(identity)), run_name(identity));
    std::vector<Label> labels = std::move(run.identity.labels);
    run.identity = run_of(identity);
    run.identity.labels = is_task(identity) ? std::move(labels) : shared->labels;
    run.identity.provenance.run = shared->provenance.run;
    path.push_back(&run);
    nodes = &run.below;
  }
  if (is_task(identity)) {
    Node& task = below(*nodes, SummaryLevel::kTask, task_key(identity), own_task_name(identity));
    task.identity = identity;
    if (identity.task != kOtherTasks) task.identity.labels = shared->labels;
    path.push_back(&task);
  }
  return known_.emplace(shared.get(), Known{shared, std::move(path)}).first->second.path;
}

void TaskTree::rename(const Context& before, const Context& after, const std::shared_ptr<const Context>& shared) {
  const auto nodes_of = [this](const Context& identity) -> std::map<std::string, Node>* {
    if (!is_run(identity)) return &runs_;
    const auto run = runs_.find(node_key(SummaryLevel::kRun, run_key(identity)));
    return run == runs_.end() ? nullptr : &run->second.below;
  };
  auto* const from = nodes_of(before);
  // What another run has of it stays there.
  if (from == nullptr || from != nodes_of(after)) return;
  const auto known = from->find(task_key(after));
  if (known != from->end() && (known->second.sums.row.submitted.state.empty() || !from->contains(task_key(before))))
    return;
  if (auto moved = from->extract(task_key(before))) {
    // It is the one that its engine had submitted.
    if (known != from->end()) {
      moved.mapped().sums.row.submitted = known->second.sums.row.submitted;
      moved.mapped().sums.row.submitted.started = true;
      add_requested(moved.mapped().sums.row, known->second.sums.row.requested);
      count_submitted(moved.mapped().sums.row);
      from->erase(known);
    }
    moved.key() = task_key(after);
    from->insert(std::move(moved));
    known_.clear();
    path_of(after, shared);
  }
}

TaskTree::Node& TaskTree::tool_of(const std::vector<Node*>& path, SummaryLevel level, std::string name) {
  auto& nodes = path.back()->below;
  if (!nodes.contains(node_key(level, name))) {
    if (path.back()->tools >= Summary::kMostTools || tool_rows_ >= Summary::kMostToolRows) {
      name = kOthers;
    } else {
      ++path.back()->tools, ++tool_rows_;
    }
  }
  return below(nodes, level, node_key(level, name), name);
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
  for (Node* node : path) visit(node->sums.memory);
  if (program != nullptr) visit(tool_of(path, *context, *program).sums.memory);
}

void TaskTree::visit_tools(std::map<std::string, Node>& nodes, const std::string& name, const VisitMemory& visit) {
  for (auto& [key, node] : nodes) {
    const bool is_tool = node.level >= SummaryLevel::kTool;
    if (is_tool && (node.name == name || node.name == kOthers)) visit(node.sums.memory);
    visit_tools(node.below, name, visit);
  }
}

SummaryRow* TaskTree::row_of_task(const Context& identity, const std::shared_ptr<const Context>& context) {
  if (identity.task == kOtherTasks) return nullptr;
  const auto& path = path_of(identity, context);
  return path.empty() || path.back()->level != SummaryLevel::kTask ? nullptr : &path.back()->sums.row;
}

void TaskTree::request(const Context& identity, const std::shared_ptr<const Context>& task,
                       const Requested& requested) {
  // A row of what nobody is seen in says nothing.
  if (requested == Requested{}) return;
  if (SummaryRow* const row = row_of_task(identity, task)) add_requested(*row, requested);
}

void TaskTree::submit(const Context& identity, const TaskSubmit& submit) {
  if (identity.task == kOtherTasks) return;
  // What runs knows more of its context.
  if (const auto run = runs_.find(node_key(SummaryLevel::kRun, run_key(identity))); run != runs_.end())
    if (const auto task = run->second.below.find(task_key(identity)); task != run->second.below.end())
      return add_submit(task->second.sums.row, submit);
  if (SummaryRow* const row = row_of_task(identity, submit.context)) add_submit(*row, submit);
}

void TaskTree::start(const Context& identity, const TaskStart& start) {
  if (!start.submitted_ns) return request(identity, start.context, start.requested);
  if (SummaryRow* const row = row_of_task(identity, start.context)) add_start(*row, start);
}

void TaskTree::spend(const Context& identity, const std::shared_ptr<const Context>& context, SummaryLevel level,
                     const TaskLedger& ledger, const std::vector<AwaitedTask>& waits_for) {
  if (level == SummaryLevel::kTask && identity.task == kOtherTasks) return;
  for (Node* node : path_of(identity, context)) {
    if (node->level != level) continue;
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
    Node& earlier = below(runs_, SummaryLevel::kRun, node_key(SummaryLevel::kRun, kEarlierRuns), "");
    ++earlier.folded;
    earlier.name = std::to_string(earlier.folded) + " earlier " + (earlier.folded == 1 ? "run" : "runs");
    earlier.identity.run = kEarlierRuns;
    add_sums(earlier.sums, folded.mapped().sums);
    move_tools(folded.mapped(), earlier);
  }
}

SummaryNode TaskTree::shown_node(const Node& node, bool whole, const TasksCount& count) {
  SummaryNode made;
  made.level = node.level;
  made.row = shown(node.sums, whole);
  made.row.name = node.name;
  made.row.task = node.identity;
  if (node.level == SummaryLevel::kRun && !count(node.identity.run_key)) {
    Node tools;
    TaskTree().move_tools(node, tools);
    made.below = shown_nodes(tools.below, whole, count);
  } else {
    made.below = shown_nodes(node.below, whole, count);
  }
  // All that is in a run may be one task, and the run no event.
  if (node.level == SummaryLevel::kRun && !made.row.task_ledger && made.below.size() == 1 &&
      made.below[0].row.processes == made.row.processes)
    made.row.task_ledger = made.below[0].row.task_ledger;
  return made;
}

/// Tasks below their steps.
std::vector<SummaryNode> TaskTree::shown_nodes(const std::map<std::string, Node>& nodes, bool whole,
                                               const TasksCount& count) {
  std::vector<SummaryNode> all;
  std::map<std::string, std::vector<SummaryNode>> tasks;
  for (const auto& [key, each] : nodes) {
    const bool has_step = each.level == SummaryLevel::kTask && each.identity.step;
    (has_step ? tasks[*each.identity.step] : all).push_back(shown_node(each, whole, count));
  }
  for (auto& [name, each] : tasks) {
    SummaryNode& step = all.emplace_back();
    step.level = SummaryLevel::kStep;
    step.row.name = name;
    // The memory of a step is that of its largest task.
    std::optional<PeakBounds> peak;
    for (SummaryNode& task : each) {
      if (has_begun(task.row)) peak = peak ? larger_of(*peak, peak_of(task.row)) : peak_of(task.row);
      add_row(step.row, task.row);
      step.below.push_back(std::move(task));
    }
    step.row = spanned(std::move(step.row));
    if (peak) set_peak(step.row, *peak);
    std::stable_sort(step.below.begin(), step.below.end(), comes_before);
  }
  std::stable_sort(all.begin(), all.end(), comes_before);
  return all;
}

}  // namespace tracer::internal
