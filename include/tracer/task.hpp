// SPDX-License-Identifier: Apache-2.0
/// Events of runs and tasks. A run or task begins with the first process that is seen in it, its leader. It finishes
/// when the leader has ended, no other process lives in it, and no open thread label could begin another one in it
/// (Session::label_thread()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tracer/announcement.hpp>
#include <tracer/event_kind.hpp>
#include <tracer/process.hpp>

namespace tracer {

/// A process in which a failure began, inside a run or task; see Failure.
struct FailedProcess {
  std::uint32_t pid = 0;
  std::optional<std::string> tool = {};
  std::optional<std::int32_t> exit_code = {};
  std::optional<std::int32_t> exit_signal = {};
};

/// Sums of a run or task so far: all of its processes that ended, including those of tasks and runs inside it.
struct TaskTotals {
  static constexpr std::size_t kMostFailures = 16;

  std::uint64_t processes = 0;
  std::uint64_t engine_processes = 0;              ///< The part of them that is the engine's own.
  std::uint64_t failed = 0;                        ///< Failures that began in it, without the engine's own.
  std::vector<FailedProcess> failures = {};        ///< The first of them.
  std::optional<std::uint64_t> own_cpu_ns = 0;     ///< Part of account.cpu_ns: the session's own process; see OwnWork.
  std::optional<std::uint64_t> engine_cpu_ns = 0;  ///< Part of account.cpu_ns: the engine's own.
  /// The most that its living processes held together. Absent if only bounds are known.
  std::optional<std::uint64_t> peak_bytes;
  /// A lower bound: what they held at some snapshot, or the peak of the largest process if that is more. Absent:
  /// peak_bytes is given, or nothing is known.
  std::optional<std::uint64_t> peak_at_least_bytes;
  /// An upper bound: the largest sum of the peaks of processes that lived at once. Absent: peak_bytes is given, or one
  /// peak is unknown.
  std::optional<std::uint64_t> peak_at_most_bytes;
  /// Sums; without a peak. A figure is absent when it is unknown for one process. Includes only the CPU time of
  /// OwnWork.
  Account account;
};

/// Another task, which a task waited for.
struct AwaitedTask {
  Key task_key = {};
  std::string name;            ///< What people call it, by then: "align (S1)". Empty: nothing.
  std::uint64_t wait_ns = 0;   ///< For which the task as a whole waited for it: part of that cause in its TaskLedger.
  std::string cause = "pipe";  ///< "pipe", "local socket" or "lock".
};

/// The first process of a run was seen.
struct RunStart {
  static constexpr EventKind kKind = EventKind::kRunStart;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Context> context = Process::no_context();  ///< Never null.
  std::uint32_t pid = 0;                                           ///< The pid of that process, the leader.
  std::uint64_t start_ns = 0;
};

struct TaskStart {
  static constexpr EventKind kKind = EventKind::kTaskStart;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Context> context = Process::no_context();  ///< Never null.
  std::uint32_t pid = 0;                                           ///< The leader's.
  std::uint64_t start_ns = 0;
  Requested requested;                             ///< From its announcement.
  std::optional<std::uint64_t> submitted_ns = {};  ///< When it was submitted; absent: that was not reported.
};

/// A task that was submitted, or a run, and what became of it, by the word of Session::submit() and withdraw().
struct TaskSubmit {
  static constexpr EventKind kKind = EventKind::kTaskSubmit;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Context> context = Process::no_context();  ///< Never null; with the keys of the run and task.
  /// "submitted"; "started": a process of it has begun here; "started_elsewhere": it was announced, and no process here
  /// belongs to it; "ended_elsewhere": it ran, but not here; "withdrawn": it is over, or never ran; "expired".
  std::string state;
  std::uint64_t submitted_ns = 0;
  std::optional<std::string> outcome = {};  ///< With "ended_elsewhere" and "withdrawn": as Withdrawal::outcome.
  std::optional<std::int32_t> exit_code = {};
  Requested requested = {};
  std::vector<ExpectedTasks> expected = {};  ///< Of a run.
};

/// The leader has ended, no process lives in the task, and no thread label of it is open anymore; if a label is open at
/// the session's end, the event comes then. If a process joins later, another TaskFinish follows with everything: the
/// last one of a task counts.
struct TaskFinish {
  static constexpr EventKind kKind = EventKind::kTaskFinish;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Context> context = Process::no_context();  ///< Never null; with all that is known by now.
  std::uint32_t pid = 0;                                           ///< The leader's.
  std::uint64_t start_ns = 0;                                      ///< The leader's.
  std::uint64_t begin_ns = 0;  ///< When it began: start_ns, or the exec of a command that was held until then.
  std::uint64_t end_ns = 0;    ///< When its last process ended.
  std::optional<std::int32_t> exit_code;  ///< The leader's. Absent, like exit_signal, if its end was not seen.
  std::optional<std::int32_t> exit_signal;
  Requested requested;  ///< From its announcement, to compare with the totals.
  TaskTotals totals;
  /// Where its wall time went. Absent: "waits" is off, part of it was not followed, or another run was in it.
  std::optional<TaskLedger> task_ledger = {};
  /// Tasks of the same user that had the other ends of pipes and local sockets for which it waited, or the locks, by
  /// cause, the longest first, at most kMostAwaited. Empty: it waited for none for 50 ms or more, or for which is not
  /// known.
  std::vector<AwaitedTask> waits_for = {};
  static constexpr std::size_t kMostAwaited = 8;

  /// Whether its leader failed: by its end, unless its engine, or the session's own process, ended it when nobody
  /// needed it any more. Absent: its end was not seen.
  std::optional<bool> failed() const noexcept {
    if (exit_signal) return totals.failed != 0;
    return exit_code ? std::optional(*exit_code != 0) : std::nullopt;
  }
};

struct RunFinish {
  static constexpr EventKind kKind = EventKind::kRunFinish;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Context> context = Process::no_context();  ///< Never null.
  std::uint32_t pid = 0;
  std::uint64_t start_ns = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> exit_signal;
  std::uint64_t tasks = 0;         ///< Tasks that finished in it.
  std::uint64_t failed_tasks = 0;  ///< The ones whose leader failed.
  TaskTotals totals;
  std::optional<TaskLedger> task_ledger = {};  ///< As in TaskFinish, for the run as a whole.
  std::optional<std::uint64_t> without_task_ns =
      {};  ///< No task ran. Absent: the run has no tasks, or with task_ledger.

  /// Whether its leader failed, by its end. Absent: that was not seen.
  std::optional<bool> failed() const noexcept {
    if (exit_signal) return true;
    return exit_code ? std::optional(*exit_code != 0) : std::nullopt;
  }
};

/// The context of a run or task became more complete, or it changed, such as by an announcement: its processes have the
/// later context from now on.
struct ContextChange {
  static constexpr EventKind kKind = EventKind::kContextChange;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Context> before = Process::no_context();  ///< Never null.
  std::shared_ptr<const Context> after = Process::no_context();   ///< Never null.
  std::optional<std::uint32_t> pid;       ///< Only this process changed. Absent: all that have `before`.
  std::optional<std::uint64_t> start_ns;  ///< With pid.
  std::optional<Key> old_run_key;         ///< The key of `before`, if `after` has another.
  std::optional<Key> old_task_key;        ///< The same for the task.
};

}  // namespace tracer
