// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <tracer/summary.hpp>

#include "context/failure_chains.hpp"

namespace tracer::internal {

/// Adds programs up by run, step, task and tool. `identity` is what Identities has for the context.
class TaskTree {
 public:
  void add(const Context& identity, const Process& process, const ProgramAccount& program, bool peak_matters);
  void add(const Context& identity, const OwnWork& work);
  void count(const Context& identity, const ProcessExit& exit);
  void count(const Context& identity, const FailureOrigin& failure);
  void request(const Context& identity, const std::shared_ptr<const Context>& task, const Requested& requested);
  /// Called with each run and task; `row.task` is its identity.
  using Describe = std::function<void(SummaryNode&)>;
  std::vector<SummaryNode> nodes(const Describe& describe) const;

 private:
  struct Node {
    SummaryLevel level = SummaryLevel::kRun;
    std::string name = {};
    Context identity = {};  ///< Of a run or task, and of what is in a step, but in no task.
    SummaryRow row = {};
    bool of_command = false;                 ///< A run whose only name is that of the command that the session follows.
    std::map<std::string, Node> below = {};  ///< By what makes them different.
  };
  /// The nodes that a context belongs to, the outermost first.
  struct Known {
    std::shared_ptr<const Context> context;  ///< Keeps the address its own.
    std::vector<Node*> path;
  };

  const std::vector<Node*>& path_of(const Context& identity, const std::shared_ptr<const Context>& context);
  static Node& below(std::map<std::string, Node>& nodes, SummaryLevel level, const std::string& key,
                     const std::string& name);
  Node& tool_of(const std::vector<Node*>& path, SummaryLevel level, std::string name);
  static bool has_tasks(const Node& run);
  static SummaryNode shown(const Node& node, const Describe& describe);

  std::size_t tool_rows_ = 0;  ///< In all nodes.
  std::map<std::string, Node> runs_;
  std::unordered_map<const Context*, Known> known_;
};

/// What a session's own process is counted as: "train.py (this process)".
std::string counted_as(const OwnWork& work);
/// What a program is counted as: its tool, or the engine whose own work it did.
std::string counted_as(const Context& context, const ProgramAccount& program);

}  // namespace tracer::internal
