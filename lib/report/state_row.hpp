// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/summary.hpp>

#include "report/sums/rows.hpp"
#include "report/sums/touched.hpp"
#include "state/book.hpp"
#include "state/counted_tasks.hpp"

namespace tracer::internal {

struct StateRow;

/// The tasks of a run or step. Those that are over are added up once, until one of them changes after all.
class TasksBelow {
 public:
  void join(StateRow& task);
  void leave(StateRow& task);
  /// It is over from now on.
  void close(StateRow& task);
  /// It was over, and is no more.
  void open(StateRow& task);
  /// One that is over has changed.
  void changed() noexcept { stale_ = true; }
  /// Its row is no more; what it was stays in the sums.
  void drop(StateRow& task);
  /// Of another run or step that turned out to be this one.
  void add_dropped(const TasksBelow& other);

  struct Over {
    RowSums sums = {};
    std::optional<PeakBounds> largest = {};  ///< Of one of those whose rows are there.
  };
  const Over& over();
  const std::unordered_set<StateRow*>& open() const noexcept { return open_; }
  std::vector<StateRow*> all() const;
  std::size_t size() const noexcept { return open_.size() + over_.size(); }

 private:
  static void add(const StateRow& task, Over& over);

  std::unordered_set<StateRow*> open_;
  std::unordered_set<StateRow*> over_;
  std::unique_ptr<RowSums> dropped_;  ///< Null: none.
  Over sums_;
  bool stale_ = false;
};

/// A run, a step or a task, and who lives there.
struct StateRow {
  SummaryLevel level = SummaryLevel::kTask;
  Book::ScopePtr scope;  ///< Of a step: its run. Never null.
  std::string step = {};
  StateRow* run = nullptr;  ///< That counts it, as the next.
  StateRow* of_step = nullptr;
  std::shared_ptr<const Context> context = Process::no_context();
  std::shared_ptr<const Context> placed = {};  ///< For which `run` and `of_step` were found. Null: look again.
  std::size_t context_bytes = 0;               ///< That are charged.
  bool finished = false;
  bool awaited = false;                           ///< A run that its engine has submitted, and not withdrawn.
  std::optional<std::uint64_t> expected = {};     ///< Of a step: its tasks, by its engine's word.
  bool is_over = false;                           ///< A task that is finished, and in which nothing lives.
  RowSums sums = {};                              ///< Of what has ended in it, and in no task of it.
  std::unordered_set<std::uint32_t> living = {};  ///< Pids, likewise.
  std::vector<ToolSample> folded = {};            ///< Of the last snapshot, likewise.
  std::string tool = {};                          ///< Of the process that has consumed most.
  std::uint64_t tool_cpu_ns = 0;
  std::unique_ptr<Touched> touched = {};  ///< Null: nobody has asked.
  std::uint64_t touched_since_ns = 0;
  std::size_t touched_charged = 0;  ///< Files and peers.
  std::uint64_t version = 0;
  std::list<StateRow*>::iterator place = {};
  std::unique_ptr<TasksBelow> tasks = {};  ///< Null: of a task.
  CountedTasks counted = {};               ///< Of a run.
};

/// False: of a step or task of a run that counts as one without tasks.
inline bool counts(const StateRow& row) { return row.run == nullptr || row.run->counted.count(); }

/// For as long as it is there.
std::string id_of(const StateRow& row);

/// Nothing lives in it, nor is it awaited, and no event will end it: a run without a leader, or what is seen again
/// after its room was needed.
bool is_left(const StateRow& row);

/// Something has run in it, or runs.
bool is_any_seen(const StateRow& row);

/// A task that has finished; a run that has, and none of whose tasks lives; a run of labels alone, in which nothing
/// lives or waits.
bool has_ended(const StateRow& row);

/// Of several tasks, of which some may be unknown.
inline std::optional<PeakBounds> larger(const std::optional<PeakBounds>& known, const PeakBounds& peak) {
  return known ? larger_of(*known, peak) : peak;
}

}  // namespace tracer::internal
