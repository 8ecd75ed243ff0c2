// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <tracer/event.hpp>
#include <tracer/summary.hpp>

#include "report/report_sums.hpp"
#include "report/state_row.hpp"
#include "report/sums/ended_programs.hpp"
#include "state/book.hpp"

namespace tracer::internal {

/// A process that lives, as its last sample saw it.
struct LivingRow {
  ProcessSample sample;
  ProgramAccount program;  ///< Its share of it that is of the program that runs now.
  std::uint64_t begin_ns = 0;
  std::uint64_t snapshot = 0;  ///< The number of the last one that saw it.
};

/// What one user may see of what lives and has ended. One thread at a time.
class StateRows {
 public:
  /// All that share `versions` count in one order. `touch_all`: files and peers are kept of each run and task.
  using Rows = std::vector<StateRow*>;

  StateRows(Book& book, const EndedPrograms& ended_programs, std::uint64_t& versions, bool touch_all)
      : book_(book), ended_programs_(ended_programs), versions_(versions), touch_all_(touch_all) {}
  StateRows(const StateRows&) = delete;
  StateRows& operator=(const StateRows&) = delete;

  void add(const Event& event);
  /// It began in there, as FailureChains decides.
  void failed(const FailureOrigin& failure);
  /// Not while an event is added: rows go.
  void gone(ScopeId id, ScopeId into);

  /// With what lives.
  SummaryRow sums_of(StateRow& row, bool whole);
  StateRow* find(SummaryLevel level, ScopeId id, const std::string& step = {});
  /// Newest first, those that changed after `since`.
  Rows changed_since(std::uint64_t since);
  std::vector<const LivingRow*> living_in(const StateRow& row) const;
  /// From now on, what it touches is kept.
  void touch(StateRow& row) const;

  std::uint64_t processes = 0;  ///< That ended.
  std::uint64_t failures = 0;
  std::uint64_t dropped = 0;  ///< Rows and findings.
  std::uint64_t living() const noexcept { return living_.size() + folded_processes_; }
  /// The run or task that has this key. Null: none.
  StateRow* with_key(std::uint64_t key);
  std::size_t runs() const noexcept { return runs_; }
  std::size_t tasks() const noexcept { return scopes_.size() - runs_; }
  void collect(SummaryLevel level, std::set<ScopeId>& ids) const;
  std::map<std::string, std::uint64_t> losses;
  std::uint64_t last_ns = 0;
  bool over = false;
  std::optional<std::uint64_t> missed_at_most;
  std::uint64_t ended_by_count = 0;  ///< Of the whole session, when it is over.
  RowsLack lack = RowsLack::kLater;  ///< As of the last look, and since which version.
  std::uint64_t lack_since = 0;
  /// Rows of runs and tasks that are no more, with the version since then.
  const std::deque<std::pair<std::uint64_t, std::string>>& gone_rows() const noexcept { return gone_; }
  std::uint64_t forgot_gone_at() const noexcept { return forgot_gone_at_; }

 private:
  static constexpr std::size_t kMostGone = 1024;

  /// The run and step of a context.
  struct Above {
    StateRow* run = nullptr;
    StateRow* step = nullptr;
  };

  /// The innermost row that a context belongs to; made where there is none. Null: it belongs to none.
  StateRow* row_of(const std::shared_ptr<const Context>& context);
  /// Of a context that names a task.
  StateRow* task_row(const std::shared_ptr<const Context>& context);
  StateRow* scope_row(const std::shared_ptr<const Context>& context, bool is_run);
  StateRow* step_row(StateRow& run, const std::string& step);
  Above above(const std::shared_ptr<const Context>& context);
  void place(StateRow& task, const Above& above);
  std::vector<StateRow*> steps_of(ScopeId run);
  void become(StateRow& row, const Book::ScopePtr& scope);
  void leave_tasks(StateRow& task, StateRow* above);
  void close(StateRow& task);
  void open(StateRow& task);
  void close_left();
  void submitted(const TaskSubmit& submit);
  void expect(const TaskSubmit& submit);
  void keep(StateRow& row, std::shared_ptr<const Context> context);
  void changed(StateRow& row);
  void note_gone(const StateRow& row);
  void drop(StateRow& row);
  void merge(StateRow& from, StateRow& into);
  void add_what_lives(RowSums& sums, const StateRow& row) const;
  void sampled(const ProcessSample& sample);
  void leave(std::uint32_t pid);
  void program_ended(StateRow& row, const ProgramAccount& program, bool peak_matters);
  void exited(const ProcessExit& exit);
  void execed(const ProcessExec& exec);
  void end_snapshot();
  template <class Sample>
  void add_memory(StateRow* row, const Sample& sample);
  template <class Start>
  StateRow* began(const Start& start, bool is_run);
  template <class Finish>
  StateRow* finished(const Finish& finish, bool is_run);
  template <class Use>
  void used(const Use& use);

  Book& book_;
  const EndedPrograms& ended_programs_;
  std::uint64_t& versions_;
  bool touch_all_;
  std::unordered_map<ScopeId, StateRow> scopes_;  ///< Runs and tasks.
  std::size_t runs_ = 0;                          ///< Of these.
  std::map<std::pair<ScopeId, std::string>, StateRow> steps_;
  std::list<StateRow*> by_version_;  ///< The newest last.
  std::unordered_map<std::uint32_t, LivingRow> living_;
  std::unordered_map<std::uint32_t, StateRow*> places_;  ///< Of what lives, by pid. Null: in none.
  std::uint64_t snapshot_ = 1;
  std::unordered_set<GroupMemory*> in_snapshot_;
  std::vector<ToolSample> folded_;  ///< Of the snapshot that is being taken.
  std::unordered_set<StateRow*> with_folded_;
  std::uint64_t folded_processes_ = 0;
  std::unordered_set<ScopeId> left_;  ///< That may be over at the end of the snapshot, and no event says so.
  std::deque<std::pair<std::uint64_t, std::string>> gone_;
  std::uint64_t forgot_gone_at_ = 0;
};

}  // namespace tracer::internal
