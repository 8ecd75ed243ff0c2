// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tracer/summary.hpp>

namespace tracer::internal {

/// Which tasks of runs needed which others, by the files that these had written, and so the critical path of each run.
/// Bounded: a file, or a need, that finds no place makes the lower bound of a path lower; of a run of which a task
/// finds none, no path is known. Runs that finished first make room.
class RunPaths {
 public:
  void add(const Event& event);
  /// Absent: it has no tasks, or not all of them are known.
  std::optional<CriticalPath> path_of(Key run) const;
  /// Of all runs that have one, in the order in which their first tasks began.
  std::vector<CriticalPath> paths() const;

 private:
  static constexpr std::size_t kMostTasks = Summary::kMostTasks;
  static constexpr std::size_t kMostRuns = Summary::kMostRuns;
  static constexpr std::size_t kMostFiles = 32768;
  static constexpr std::size_t kMostWriters = 8;  ///< Of one file: the last ones.
  static constexpr std::size_t kMostNeeds = 262'144;

  using Id = std::uint32_t;  ///< Of a task; in the order in which they began.
  struct Task {
    Key key = {};
    std::string name = {};
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    bool finished = false;
    std::vector<Id> needs = {};  ///< Those that had written a file that it read, before it did.
  };
  struct Run {
    std::map<Id, Task> tasks = {};
    bool is_whole = true;  ///< All of its tasks are there.
    bool finished = false;
    std::optional<std::uint64_t> without_task_ns = {};
  };
  struct Place {
    std::uint64_t run = 0;
    Id id = 0;
  };
  struct File {
    std::size_t path_hash = 0;
    std::vector<Place> writers = {};
  };
  using FileId = std::pair<std::uint64_t, std::uint64_t>;  ///< Device and inode.

  Run* run_of(const Context& context);
  Task* task_of(const Context& context, std::uint64_t begin_ns);
  void used(const FileUse& use);
  void renamed(const ContextChange& change);
  void rename_task(std::uint64_t from, std::uint64_t to, const Context& after);
  void rename_run(std::uint64_t from, std::uint64_t to);
  void forget_oldest_run();

  std::unordered_map<std::uint64_t, Run> runs_;      ///< By key.
  std::unordered_map<std::uint64_t, Place> places_;  ///< Of tasks, by key.
  std::map<FileId, File> files_;                     ///< That tasks wrote.
  std::deque<std::uint64_t> finished_;               ///< Keys of runs, the oldest first.
  std::size_t needs_ = 0;
  Id next_ = 0;
  std::uint64_t last_ns_ = 0;
};

}  // namespace tracer::internal
