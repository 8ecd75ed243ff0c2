// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <tracer/summary.hpp>

#include "report/sums/ended_programs.hpp"
#include "report/sums/identities.hpp"
#include "report/sums/rows.hpp"
#include "report/sums/task_tree.hpp"

namespace tracer::internal {

/// The rows of a summary: by tool, step and task, in the tree, of the largest processes and of all.
class Sums {
 public:
  void ended(const ProcessExec& exec);
  void ended(const ProcessExit& exit);
  /// After ended(): what of its programs is known together.
  void joined(const ProcessExit& exit, const JoinedPrograms& joined);
  /// One that has ended is known to have failed.
  void failed(const FailureOrigin& failure);
  /// A process that lives and began at `begin_ns`, and `program`, its share of what the sample saw.
  void lives(const ProcessSample& sample, const ProgramAccount& program, std::uint64_t begin_ns);
  void live(const ToolSample& sample);
  /// What these hold; `in_snapshot` gets all that must hear of the snapshot's end. `own`: it is the session's own
  /// process, which counts_apart().
  void holds(const ProcessSample& sample, bool own, std::vector<GroupMemory*>& in_snapshot);
  void hold(const ToolSample& sample, std::vector<GroupMemory*>& in_snapshot);
  /// It is the session's own process, and none of those of its tool: it has a row of its own.
  void counts_apart(const Process& process);
  /// What the session's own process did.
  void worked(const OwnWork& work);
  void request(const std::shared_ptr<const Context>& task, const Requested& requested);
  void submitted(const TaskSubmit& submit) { tree_.submit(identities_.of(submit.context), submit); }
  void started(const TaskStart& start) { tree_.start(identities_.of(start.context), start); }
  /// The wall time of this task or run as a whole, and the tasks that it waited for.
  void spent(const std::shared_ptr<const Context>& context, SummaryLevel level, const TaskLedger& ledger,
             const std::vector<AwaitedTask>& waits_for = {});
  /// More is known of a task: its rows are the same as before.
  void changed(const ContextChange& change);
  /// Some process is counted in this task, or in a row that it shares.
  bool is_seen(const std::shared_ptr<const Context>& task) { return tasks_.contains(identities_.of(task)); }
  /// It is over, as far as can be seen.
  void run_finished(const Context& run);
  /// Where little more can be told apart, runs that are over become one, those first that have been over for longest.
  /// Not between holds() and the snapshot's end: what `in_snapshot` got may be gone.
  void fold_finished_runs();

  std::vector<SummaryRow> by_tool(bool whole) const;
  std::vector<SummaryRow> by_step(bool whole, const TasksCount& count) const;
  std::vector<SummaryRow> by_task(bool whole, const TasksCount& count) const;
  std::vector<SummaryRow> by_sample(bool whole) const;
  std::vector<SummaryNode> tree(bool whole, const TasksCount& count) const { return tree_.nodes(whole, count); }
  std::vector<SummaryRow> largest_processes() const;
  SummaryRow total(bool whole) const;

 private:
  template <class Visit>
  const Context& for_each_whole(const std::shared_ptr<const Context>& context, Visit visit);
  template <class Visit>
  void for_each_row(const std::shared_ptr<const Context>& context, const ProgramAccount& program, Visit visit);
  template <class Sample>
  void add_memory(const Sample& sample, const std::shared_ptr<const Context>& context, const ProgramAccount* program,
                  std::vector<GroupMemory*>& in_snapshot);
  void add_program(const std::shared_ptr<const Context>& context, const ProgramAccount& program, bool peak_matters);
  struct OneProcess {
    std::uint32_t pid;
    std::uint64_t start_ns;
    SummaryRow row;
  };
  void add_to_largest(std::uint64_t cpu_ns, OneProcess process);
  bool is_among_largest(std::uint64_t cpu_ns) const;
  RowSums& tool_row(const std::string& name);
  template <class Counts>
  std::vector<SummaryRow> by(std::optional<std::string> Context::*field, bool whole, const Counts& counts) const;

  std::map<std::string, RowSums> tools_;
  std::map<Context, RowSums> tasks_;
  RowSums total_;
  TaskTree tree_;
  std::multimap<std::uint64_t, OneProcess> largest_;  ///< By CPU time.
  Identities identities_;
  std::map<std::uint64_t, std::string> finished_;  ///< Keys of runs that are over, in the order of their ends.
  std::unordered_map<std::string, std::uint64_t> finished_at_;
  std::uint64_t runs_finished_ = 0;
};

}  // namespace tracer::internal
