// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <tracer/summary.hpp>

#include "report/sums/rows.hpp"

namespace tracer::internal {

/// Whether the tasks of the run with this key count; false: it is shown as one without tasks.
using TasksCount = std::function<bool(const std::optional<Key>& run)>;

/// Adds programs up by run, step, task and tool. `identity` is what Identities has for the context.
class TaskTree {
 public:
  TaskTree() = default;
  TaskTree(const TaskTree& other) : tool_rows_(other.tool_rows_), runs_(other.runs_) {}
  TaskTree& operator=(const TaskTree&) = delete;

  /// Calls with the sums of each node that a program in this context belongs to, and whether that is its tool's.
  using Visit = std::function<void(RowSums& sums, bool is_tool)>;
  void visit(const Context& identity, const std::shared_ptr<const Context>& context, const ProgramAccount& program,
             const Visit& visit);
  /// Likewise of what the session's own process did.
  void visit(const Context& identity, const OwnWork& work, const Visit& visit);
  /// Likewise, with the memory of each whose processes hold it together: not of steps. Null `program`: of no tool.
  using VisitMemory = std::function<void(GroupMemory& memory)>;
  void visit_memory(const Context& identity, const std::shared_ptr<const Context>& context,
                    const ProgramAccount* program, const VisitMemory& visit);
  /// All nodes of tools that are counted as this.
  void visit_tools(const std::string& name, const VisitMemory& visit) { visit_tools(runs_, name, visit); }
  /// The same task, of which more is known.
  void rename(const Context& before, const Context& after, const std::shared_ptr<const Context>& shared);
  void request(const Context& identity, const std::shared_ptr<const Context>& task, const Requested& requested);
  /// What its engine said of a task, and that it has started.
  void submit(const Context& identity, const TaskSubmit& submit);
  void start(const Context& identity, const TaskStart& start);
  /// The wall time of a task, or of its run, as a whole, and the tasks that it waited for; what was said of it before
  /// does not hold.
  void spend(const Context& identity, const std::shared_ptr<const Context>& context, SummaryLevel level,
             const TaskLedger& ledger, const std::vector<AwaitedTask>& waits_for);
  /// These runs, by key, become one row. What they held in a snapshot that is being taken must not be asked for again.
  void fold_runs(const std::set<std::string>& keys);
  /// `whole`: nothing is missing.
  std::vector<SummaryNode> nodes(bool whole, const TasksCount& count) const { return shown_nodes(runs_, whole, count); }

 private:
  struct Node {
    SummaryLevel level = SummaryLevel::kRun;
    std::string name = {};
    Context identity = {};  ///< Of a run or task, with its labels.
    RowSums sums = {};
    std::size_t tools = 0;
    std::uint64_t folded = 0;                ///< Runs that this one stands for.
    std::map<std::string, Node> below = {};  ///< Tools and tasks.
  };
  /// The nodes that a context belongs to, the outermost first.
  struct Known {
    std::shared_ptr<const Context> context;  ///< Keeps the address its own.
    std::vector<Node*> path;
  };

  const std::vector<Node*>& path_of(const Context& identity, const std::shared_ptr<const Context>& context);
  static Node& below(std::map<std::string, Node>& nodes, SummaryLevel level, const std::string& key,
                     const std::string& name);
  /// Null: it is told apart no more.
  SummaryRow* row_of_task(const Context& identity, const std::shared_ptr<const Context>& context);
  Node& tool_of(const std::vector<Node*>& path, SummaryLevel level, std::string name);
  Node& tool_of(const std::vector<Node*>& path, const Context& context, const ProgramAccount& program);
  static void visit_tools(std::map<std::string, Node>& nodes, const std::string& name, const VisitMemory& visit);
  void move_tools(const Node& from, Node& to);
  static SummaryNode shown_node(const Node& node, bool whole, const TasksCount& count);
  static std::vector<SummaryNode> shown_nodes(const std::map<std::string, Node>& nodes, bool whole,
                                              const TasksCount& count);

  std::size_t tool_rows_ = 0;  ///< In all nodes.
  std::map<std::string, Node> runs_;
  std::unordered_map<const Context*, Known> known_;
};

/// What a session's own process is counted as: "train.py (this process)".
std::string counted_as(const OwnWork& work);
/// What a program is counted as: its tool, or the engine whose own work it did.
std::string counted_as(const Context& context, const ProgramAccount& program);
/// The engine of a row that is called "(nextflow itself)". Empty: it is none.
std::string engine_of(const std::string& row_name);

}  // namespace tracer::internal
