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
#include "insight/wall_ledger.hpp"
#include "source/scope_counts.hpp"

namespace tracer::internal {

/// A run or task while it lives: what findings look at.
struct ScopeFigures {
  std::shared_ptr<const Context> context = Process::no_context();  ///< Never null.
  bool is_run = false;
  std::uint32_t pid = 0;       ///< The leader's.
  std::uint64_t start_ns = 0;  ///< Likewise.
  std::uint64_t begin_ns = 0;
  std::uint64_t now_ns = 0;  ///< Up to where the figures are known; at its end, the end.
  bool finished = false;
  bool whole = false;     ///< Nothing of it is unknown.
  bool by_tasks = false;  ///< Of a run: tasks ran for a fifth of its time or more, and speak for it.
  TaskLedger ledger = {};
  std::uint64_t living = 0;
  std::uint32_t cpus = 0;  ///< That its processes may use, at most.
  Requested requested = {};
};

/// Finds the TaskLedger of each run and task from the ledgers of its processes, and from what the kernel counts of
/// those in which no other is.
class TaskLedgers {
 public:
  /// On a host with this many CPUs. `counts` outlives this; null: the kernel does not count.
  explicit TaskLedgers(std::uint32_t cpus, ScopeCounts* counts = nullptr,
                       const std::shared_ptr<Accounts>& accounts = std::make_shared<Accounts>())
      : cpus_(cpus),
        counts_(counts),
        scopes_(kMostBytes, "task_ledgers_full", accounts,
                [this](std::uint64_t key, const auto& each) { lost(key, *each); }),
        finished_(kMostBytesOfFinished, {}, accounts, [this](std::uint64_t key, bool) { forget(key); }),
        ended_(kMostBytesOfEnded, {}, accounts) {}

  void saw(const ProcessStart& start);
  void saw(const ProcessExec& exec);
  void saw(const ProcessExit& exit);
  void saw(const ProcessSample& sample);
  void saw(const SnapshotEnd& snapshot);
  void saw(const OwnWork& work);
  void saw(const RunStart& run);
  void saw(const TaskStart& task);
  void saw(const ContextChange& change);
  /// Fills in its ledger, unless part of it is not known, and gives its figures; absent: nothing is known of it.
  std::optional<ScopeFigures> finish(TaskFinish& finish);
  std::optional<ScopeFigures> finish(RunFinish& finish);

  /// Of each run and task that has processes, or had, and has not finished.
  template <class Visit>
  void each_living(const Visit& visit) const {
    scopes_.each([&](std::uint64_t, const std::shared_ptr<Scope>& scope) {
      if (!scope->finished && scope->started) visit(figures_of(*scope, scope->wall.closed_ns()));
    });
  }

 private:
  static constexpr std::size_t kMostBytes = 64u << 20;
  static constexpr std::size_t kMostBytesOfFinished = 4u << 20;  ///< Of those that may still be joined.
  static constexpr std::size_t kMostAround = 8;
  static constexpr std::size_t kMostEntries = 256;
  static constexpr std::size_t kMostMembers = 16384;  ///< Of one scope that are told from strangers.
  /// For processes that may still be found to be what others waited for.
  static constexpr std::size_t kMostBytesOfEnded = 1u << 20;
  static constexpr std::size_t kMostOthers = 64;  ///< That one task is known to have waited for.

  struct Scope;
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
    explicit Scope(std::uint64_t begin, std::uint32_t cpus) : begin_ns(begin), wall(begin, cpus) {}
    std::shared_ptr<const Context> context = Process::no_context();
    bool is_run = false;
    bool started = false;
    bool finished = false;
    bool whole = true;  ///< Nothing of it is unknown.
    std::uint32_t pid = 0;
    std::uint64_t start_ns = 0;
    std::uint64_t begin_ns;
    std::uint64_t living = 0;
    std::uint64_t sampled = 0;
    std::uint64_t ended = 0;
    Requested requested = {};
    WallLedger wall;
    CountedScope counted = {};
    std::string name = {};               ///< Of a task: its owner, and as what is in it says `within`.
    std::shared_ptr<Scope> around = {};  ///< The run of a task, and the task that a run is in; null: none.
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
    std::shared_ptr<Scope> task = {};  ///< Never null.
  };
  struct Member {
    std::uint64_t start_ns = 0;
    std::uint64_t begin_ns = 0;  ///< Since when it counts.
    std::uint64_t last_ns = 0;   ///< Up to where what it did is known.
    ProcessLedger last = {};
    std::uint64_t read_wait_ns = 0;   ///< In pipes, for whom is not known yet.
    std::uint64_t write_wait_ns = 0;  ///< Likewise.
    std::optional<std::uint32_t> cpus_allowed = {};
    std::shared_ptr<const Context> context = {};      ///< For which `scopes` were found.
    std::vector<std::shared_ptr<Scope>> scopes = {};  ///< That it is in, the innermost first.
    bool was_counted = false;                         ///< The next two are set.
    std::shared_ptr<Scope> counted_in = {};           ///< In which the kernel counts it; null: in none.
    std::uint64_t counted_from_ns = 0;                ///< What it forks from then on is there, too.
  };

  /// Of this context.
  std::shared_ptr<Scope> scope(const Context& context, bool is_run, std::uint64_t begin_ns);
  void lost(std::uint64_t key, Scope& scope);
  void forget(std::uint64_t key);
  void forget_name(const Scope& scope);
  Member& member(const Process& process, std::uint64_t begin_ns);
  void place(Member& member, const Process& process);
  void count(Member& member, const Process& process);
  bool inherit_count(Member& member, const Process& process) const;
  std::uint32_t cpus_of(const Scope& scope) const noexcept;
  std::vector<std::shared_ptr<Scope>> scopes_of(const Context& context, std::uint64_t begin_ns);
  void add_span(Member& member, std::uint64_t to_ns, const Account& account);
  void add_wait(Scope& scope, const LifeSpan& span, WaitBy by, const std::optional<std::uint32_t>& peer,
                std::uint64_t wait_ns);
  /// What of a process's waits is as much of them as `part_ns` is of those of its threads.
  static std::uint64_t like_part(std::uint64_t process_ns, std::uint64_t part_ns, std::uint64_t threads_ns) noexcept;
  static ProcessLedger without_inside(const ProcessLedger& span, const Scope& scope, const Ledger& threads);
  void add_waits_at_end(const Member& member, const ProcessExit& exit);
  std::shared_ptr<Scope> task_with(std::uint32_t pid, std::uint64_t from_ns, std::uint64_t to_ns) const;
  void keep_end(const Member& member, std::uint32_t pid);
  static std::vector<AwaitedTask> awaited_by(const Scope& task, const TaskLedger& ledger);
  void task_began(const Context& context, std::uint64_t start_ns);
  void task_ended(const Context& context, std::uint64_t end_ns);
  template <class Finish>
  std::optional<ScopeFigures> finish_scope(Finish& finish, const std::optional<Key>& key);
  ScopeFigures figures_of(const Scope& scope, std::uint64_t now_ns) const;

  std::uint32_t cpus_;
  ScopeCounts* counts_;
  Bounded<std::uint64_t, std::shared_ptr<Scope>> scopes_;          ///< By key.
  std::unordered_map<std::uint32_t, Member> members_;              ///< By pid.
  std::unordered_map<std::string, std::weak_ptr<Scope>> by_name_;  ///< Tasks, by Scope::name.
  Bounded<std::uint64_t, bool> finished_;                          ///< By key: what of `scopes_` is over.
  Bounded<std::uint32_t, Ended> ended_;                            ///< By pid.
};

}  // namespace tracer::internal
