// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

#include "base/counter.hpp"
#include "base/process_id.hpp"
#include "correlate/filter_evaluator.hpp"

namespace tracer::internal {

/// Applies a whole filter to events that were correlated before. One thread at a time, but for the counter.
class ReplayFilter {
 public:
  /// What it has decided by now.
  struct Decided {
    struct OfProcess {
      std::uint32_t pid = 0;
      std::uint64_t start_ns = 0;
      Selection selection = Selection::kSelected;
    };
    std::vector<OfProcess> processes = {};
    std::vector<Key> runs = {};  ///< That are kept.
    std::vector<Key> tasks = {};
    std::vector<std::uint64_t> cgroups = {};
  };

  /// `max_processes`: remembered at one time.
  ReplayFilter(FilterEvaluator filter, std::size_t max_processes)
      : filter_(std::move(filter)), max_processes_(max_processes) {}
  /// Goes on from what another has decided, whose rules give no labels. follow() takes in only what it sees itself.
  ReplayFilter(FilterEvaluator filter, std::size_t max_processes, const Decided& decided);
  ReplayFilter(const ReplayFilter& other);
  ReplayFilter& operator=(const ReplayFilter&) = delete;

  /// Appends the event, with the labels of the rule that took its process in, unless it is filtered out; before it,
  /// events of runs and tasks that it takes in, and the ProcessStart of a process that an exec or exit takes in.
  void apply(Event event, std::vector<Event>& events);
  /// Whether it has taken in what this says the beginning of: a process, run or task.
  bool has_taken(const Event& start) const;
  Decided decided() const;
  /// It has the process, or all: follow() would change nothing.
  bool follows(std::uint32_t pid) const { return !filter_.needs_all() || selected(pid) != nullptr; }
  /// Takes in a process and its descendants, living and future ones; appends a ProcessStart for each that was not.
  void follow(std::uint32_t pid, std::uint64_t time_ns, std::vector<Event>& events);
  /// Processes that were forgotten since too many seemed alive: a descendant may be missing after that.
  std::uint64_t forgotten() const noexcept { return forgotten_.value(); }

 private:
  struct Entry {
    std::uint64_t start_ns = 0;
    FilterEvaluator::Decision decision;
    std::shared_ptr<const Process> process = {};  ///< As it was last; null if follow() can change nothing.
    std::shared_ptr<const Program> program = {};  ///< Likewise, where a rule excludes by it.
    std::optional<Event> start = {};              ///< A ProcessStart that comes with its exec or exit.
  };

  template <class E>
  std::optional<Event> apply_to_process(const E& event, const Event& handle, std::vector<Event>& events);
  Entry& entry_of(const std::shared_ptr<const Process>& process);
  /// It has just been forked, and what it executes decides.
  bool waits_for_exec(const Process& process) const;
  /// Null: it is not selected, or not known.
  const Entry* selected(std::uint32_t pid) const;
  bool selects(const ProcessId& leader) const;
  /// Runs and tasks whose first process is taken in are kept, as all processes below it are; what joins them from
  /// elsewhere is in their sums, as the session that made them saw it.
  template <class E>
  void apply_to_start(const E& start, const Event& event, std::vector<Event>& events);
  bool keeps_scope(const Context& context) const;
  bool keeps_change(const ContextChange& change);
  void keep_scope(const Context& context);
  void release(const ProcessId& leader, std::vector<Event>& events);

  FilterEvaluator filter_;
  std::size_t max_processes_;
  std::unordered_map<std::uint32_t, Entry> processes_;  ///< By pid.
  std::set<std::uint32_t> trees_;                       ///< Those of follow() that have not been seen.
  std::map<ProcessId, std::vector<Event>> held_;        ///< Starts whose leader has not been seen.
  std::set<Key> runs_;                                  ///< Those that are kept.
  std::set<Key> tasks_;
  std::set<std::uint64_t> cgroups_;  ///< Of processes that are kept.
  Counter forgotten_;
};

}  // namespace tracer::internal
