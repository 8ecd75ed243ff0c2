// SPDX-License-Identifier: Apache-2.0
/// Runs and tasks as facts: events. They begin with the first process that was seen in them, and finish when the
/// process that they began with has ended, no other lives in them, and no label of a thread is open that could begin
/// another in them (Session::label_thread()).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tracer/announcement.hpp>
#include <tracer/event_kind.hpp>
#include <tracer/process.hpp>

namespace tracer {

/// A process that failed inside a run or task: where a failure began, as Failure.
struct FailedProcess {
  std::uint32_t pid = 0;
  std::optional<std::string> tool = {};
  std::optional<std::int32_t> exit_code = {};
  std::optional<std::int32_t> exit_signal = {};
};

/// What a run or task has done so far: all of its processes that ended, those of tasks and runs inside it included.
struct TaskTotals {
  static constexpr std::size_t kMostFailures = 16;

  std::uint64_t processes = 0;
  std::uint64_t engine_processes = 0;              ///< Of these, the engine's own.
  std::uint64_t failed = 0;                        ///< Failures that began in it; not the engine's own.
  std::vector<FailedProcess> failures = {};        ///< The first of them.
  std::optional<std::uint64_t> own_cpu_ns = 0;     ///< Of account.cpu_ns, the session's own process's: see OwnWork.
  std::optional<std::uint64_t> engine_cpu_ns = 0;  ///< Of account.cpu_ns, the engine's own.
  /// The most that its living processes held together. Absent where only bounds are known.
  std::optional<std::uint64_t> peak_bytes;
  /// What they held at some snapshot, or the peak of the largest process if that is more. Absent: with peak_bytes, or
  /// nothing is known.
  std::optional<std::uint64_t> peak_at_least_bytes;
  /// The sum of the peaks of those that lived at once, where that is most. Absent: with peak_bytes, or one is not
  /// known.
  std::optional<std::uint64_t> peak_at_most_bytes;
  /// Sums; without a peak. A figure is absent when it is unknown for one process. Of OwnWork: CPU alone.
  Account account;
};

/// The first process of a run was seen.
struct RunStart {
  static constexpr EventKind kKind = EventKind::kRunStart;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Context> context = Process::no_context();  ///< Never null.
  std::uint32_t pid = 0;                                           ///< That process's: the leader.
  std::uint64_t start_ns = 0;
};

struct TaskStart {
  static constexpr EventKind kKind = EventKind::kTaskStart;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Context> context = Process::no_context();  ///< Never null.
  std::uint32_t pid = 0;                                           ///< The leader's.
  std::uint64_t start_ns = 0;
  Requested requested;  ///< By whoever announced it.
};

/// The leader has ended, nothing lives in it, and what was labeled by threads has no open label any more; of labels
/// that are open at the session's end it comes then. Where a process joins later, another one follows, with all: the
/// last one of a task counts.
struct TaskFinish {
  static constexpr EventKind kKind = EventKind::kTaskFinish;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Context> context = Process::no_context();  ///< Never null; with all that is known by now.
  std::uint32_t pid = 0;                                           ///< The leader's.
  std::uint64_t start_ns = 0;                                      ///< The leader's.
  std::uint64_t begin_ns = 0;  ///< When it began: start_ns, or the exec of a command that was held until then.
  std::uint64_t end_ns = 0;    ///< When its last process ended.
  std::optional<std::int32_t> exit_code;  ///< The leader's. Absent, as exit_signal: its end was not seen.
  std::optional<std::int32_t> exit_signal;
  Requested requested;  ///< By whoever announced it, to be compared with the totals.
  TaskTotals totals;
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
  std::uint64_t tasks = 0;         ///< That finished in it.
  std::uint64_t failed_tasks = 0;  ///< Of these, those whose leader failed.
  TaskTotals totals;
};

/// More is known of a run or task, or it was said otherwise, by an announcement for example: its processes have the
/// later context now.
struct ContextChange {
  static constexpr EventKind kKind = EventKind::kContextChange;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Context> before = Process::no_context();  ///< Never null.
  std::shared_ptr<const Context> after = Process::no_context();   ///< Never null.
  std::optional<std::uint32_t> pid;       ///< Of this process alone. Absent: of all that have `before`.
  std::optional<std::uint64_t> start_ns;  ///< With pid.
  std::optional<Key> old_run_key;         ///< Of `before`, where `after` has another.
  std::optional<Key> old_task_key;        ///< Likewise.
};

}  // namespace tracer
