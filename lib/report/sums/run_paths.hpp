// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tracer/summary.hpp>

#include "base/file_id.hpp"
#include "report/sums/file_contents.hpp"
#include "state/book.hpp"
#include "state/counted_tasks.hpp"

namespace tracer::internal {

/// Which tasks of runs needed which others, by the files that these had written, and so the critical path of each run.
/// Bounded: a file, or a need, that finds no place makes the lower bound of a path lower; of a run of which a task
/// finds none, no path is known. Runs that finished first make room.
class RunPaths {
 public:
  /// `book` has seen each event before, and outlives this.
  explicit RunPaths(Book& book);
  RunPaths(const RunPaths&) = delete;
  RunPaths& operator=(const RunPaths&) = delete;

  void add(const Event& event);
  /// Absent: it has no tasks that count, or not all of them are known.
  std::optional<CriticalPath> path_of(Key run) const;
  /// Of all runs that have one, in the order in which their first tasks began.
  std::vector<CriticalPath> paths() const;
  /// False: the run counts as one without tasks.
  bool tasks_count(const std::optional<Key>& run) const;

 private:
  static constexpr std::size_t kMostTasks = Summary::kMostTasks;
  static constexpr std::size_t kMostRuns = Summary::kMostRuns;
  static constexpr std::size_t kMostFiles = 32768;
  static constexpr std::size_t kMostUses = 131'072;

  struct Task {
    std::string name = {};
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    bool finished = false;
    std::map<FileId, std::size_t> read = {};  ///< Files that had been written before: its first use of each.
  };
  struct Run {
    std::map<ScopeId, Task> tasks = {};  ///< In the order in which they began.
    bool is_whole = true;                ///< All of its tasks are there.
    bool finished = false;
    std::optional<std::uint64_t> without_task_ns = {};
    CountedTasks counted = {};
  };
  struct File {
    std::vector<ContentUse> uses = {};
    std::vector<ScopeId> who = {};  ///< As long: in which task. kNone: in none.
    bool whole = true;              ///< False: there was no room for all, so nothing is known for certain.
  };
  using Needs = std::map<ScopeId, std::set<ScopeId>>;

  Run* run_of(ScopeId id);
  const Run* find_run(const std::optional<Key>& key) const;
  Task* task_of(const Context& context, std::uint64_t begin_ns);
  void used(const FileUse& use);
  void gone(ScopeId id, ScopeId into);
  void forget_oldest_run();
  Needs needs_of(const std::vector<const Run*>& runs) const;
  std::optional<CriticalPath> path_of(Key key, const Run& run, const Needs& needs) const;

  Book& book_;
  std::unordered_map<ScopeId, Run> runs_;
  std::unordered_map<ScopeId, ScopeId> run_of_task_;
  std::map<FileId, File> files_;  ///< That tasks wrote.
  std::deque<ScopeId> finished_;  ///< Runs, the oldest first.
  std::size_t uses_ = 0;
  MayBegins unnamed_;
  std::uint64_t last_ns_ = 0;
};

}  // namespace tracer::internal
