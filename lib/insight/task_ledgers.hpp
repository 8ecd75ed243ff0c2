// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

#include "base/bounded.hpp"
#include "insight/counted_scope.hpp"
#include "insight/scope_figures.hpp"
#include "insight/wall_ledger.hpp"
#include "source/scope_counts.hpp"

namespace tracer::internal {

/// Finds the TaskLedger of each run and task from the ledgers of its processes, and from what the kernel counts of
/// those in which no other is.
class TaskLedgers {
 public:
  /// On a host with this many CPUs. `counts` outlives this; null: the kernel does not count.
  /// `book` outlives this, as far as it is called.
  TaskLedgers(Book& book, std::uint32_t cpus, ScopeCounts* counts = nullptr,
              const std::shared_ptr<Accounts>& accounts = std::make_shared<Accounts>())
      : cpus_(cpus), counts_(counts), book_(book), ended_(kMostBytesOfEnded, {}, accounts) {
    book_.when_gone([this](ScopeId id, ScopeId into) { gone(id, into); });
  }

  void saw(const ProcessStart& start);
  void saw(const ProcessExec& exec);
  void saw(const ProcessExit& exit);
  void saw(const ProcessSample& sample);
  void saw(const SnapshotEnd& snapshot);
  void saw(const OwnWork& work);
  void began(const RunStart& run);
  /// One that did not run before.
  void began(const TaskStart& task);
  /// Fills in its ledger, unless part of it is not known, and gives its figures; absent: nothing is known of it.
  std::optional<ScopeFigures> finish(TaskFinish& finish);
  std::optional<ScopeFigures> finish(RunFinish& finish);

  /// Of each run and task that has begun and is not over.
  template <class Visit>
  void each_living(const Visit& visit) const {
    book_.each([&](const Book::ScopePtr& who) {
      if (who->finished || !who->started) return;
      const auto scope = scopes_.find(who->id);
      if (scope != scopes_.end()) visit(figures_of(*scope->second, scope->second->wall.closed_ns()));
    });
  }

 private:
  static constexpr std::size_t kMostEntries = 256;
  static constexpr std::size_t kMostMembers = 16384;  ///< Of one scope that are told from strangers.
  /// For processes that may still be found to be what others waited for.
  static constexpr std::size_t kMostBytesOfEnded = 1u << 20;
  static constexpr std::size_t kMostOthers = 64;  ///< That one task is known to have waited for.

  struct Scope;
  using ScopePtr = std::shared_ptr<Scope>;
  /// By what a process may wait for one of another task.
  enum class WaitBy : std::uint8_t { kPipe, kLocalSocket, kLock };
  static constexpr std::size_t kWaysToWait = 3;
  /// Waits of the processes of a task for others.
  struct Waits {
    struct ForTask {
      std::weak_ptr<Scope> task;
      WaitBy by = WaitBy::kPipe;
      std::uint64_t wait_ns = 0;
    };
    std::array<std::uint64_t, kWaysToWait> all_ns = {};  ///< By WaitBy; also for what is in no task, or not known.
    std::vector<ForTask> for_tasks = {};
  };
  struct Scope {
    Scope(Book::ScopePtr scope, std::uint64_t begin, std::uint32_t cpus)
        : who(std::move(scope)), begin_ns(begin), wall(begin, cpus) {}
    const Book::ScopePtr who;  ///< Never null.
    bool whole = true;         ///< Nothing of it is unknown.
    std::uint64_t begin_ns;
    std::uint64_t living = 0;
    std::uint64_t sampled = 0;
    std::uint64_t ended = 0;
    WallLedger wall;
    CountedScope counted = {};
    std::unordered_set<std::uint32_t> pids = {};
    /// Processes that came from outside, and how many CPUs each may use: what they start inherits it. Absent: unknown.
    std::unordered_map<std::uint32_t, std::optional<std::uint32_t>> entries = {};
    std::uint32_t most_inside_cpus = 0;  ///< Of a process that one of them started.
    std::uint64_t tasks_running = 0;     ///< Of a run.
    std::uint64_t first_task_ns = 0;     ///< 0: there was none.
    std::uint64_t no_task_since_ns = 0;
    std::uint64_t without_task_ns = 0;
    Waits waits = {};  ///< Of a task.
  };
  /// The last process with this pid that was in a task and has ended.
  struct Ended {
    std::uint64_t start_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint64_t earlier_end_ns = 0;  ///< Of the one that had this pid before; 0: none is known.
    ScopePtr task = {};                ///< Never null.
  };
  struct Member {
    std::uint64_t start_ns = 0;
    std::uint64_t begin_ns = 0;  ///< Since when it counts.
    std::uint64_t last_ns = 0;   ///< Up to where what it did is known.
    ProcessLedger last = {};
    std::uint64_t read_wait_ns = 0;   ///< In pipes, for whom is not known yet.
    std::uint64_t write_wait_ns = 0;  ///< Likewise.
    std::optional<std::uint32_t> cpus_allowed = {};
    std::shared_ptr<const Context> context = {};  ///< For which `scopes` were found.
    std::vector<ScopePtr> scopes = {};            ///< That it is in, the innermost first.
    bool was_counted = false;                     ///< The next two are set.
    ScopePtr counted_in = {};                     ///< In which the kernel counts it; null: in none.
    std::uint64_t counted_from_ns = 0;            ///< What it forks from then on is there, too.
  };

  ScopePtr scope(const Book::ScopePtr& who, std::uint64_t begin_ns);
  ScopePtr find(const Context& context, bool is_run) const;
  void gone(ScopeId id, ScopeId into);
  Member& member(const Process& process, std::uint64_t begin_ns);
  void place(Member& member, const Process& process);
  void count(Member& member, const Process& process);
  bool inherit_count(Member& member, const Process& process) const;
  std::uint32_t cpus_of(const Scope& scope) const noexcept;
  std::vector<ScopePtr> scopes_of(const Context& context, std::uint64_t begin_ns);
  void add_span(Member& member, std::uint64_t to_ns, const Account& account);
  void add_wait(Scope& scope, const LifeSpan& span, WaitBy by, const std::optional<std::uint32_t>& peer,
                std::uint64_t wait_ns);
  /// What of a process's waits is as much of them as `part_ns` is of those of its threads.
  static std::uint64_t like_part(std::uint64_t process_ns, std::uint64_t part_ns, std::uint64_t threads_ns) noexcept;
  static ProcessLedger without_inside(const ProcessLedger& span, const Scope& scope, const Ledger& threads);
  void add_waits_at_end(const Member& member, const ProcessExit& exit);
  ScopePtr task_with(std::uint32_t pid, std::uint64_t from_ns, std::uint64_t to_ns) const;
  void keep_end(const Member& member, std::uint32_t pid);
  static std::vector<AwaitedTask> awaited_by(const Scope& task, const TaskLedger& ledger);
  void task_began(const Context& context, std::uint64_t start_ns);
  void task_ended(const Context& context, std::uint64_t end_ns);
  template <class Finish>
  std::optional<ScopeFigures> finish_scope(Finish& finish, const ScopePtr& scope);
  ScopeFigures figures_of(const Scope& scope, std::uint64_t now_ns) const;

  std::uint32_t cpus_;
  ScopeCounts* counts_;
  Book& book_;
  std::unordered_map<ScopeId, ScopePtr> scopes_;       ///< As long as the book has them.
  std::unordered_map<std::uint32_t, Member> members_;  ///< By pid.
  Bounded<std::uint32_t, Ended> ended_;                ///< By pid.
};

}  // namespace tracer::internal
