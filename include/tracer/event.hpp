// SPDX-License-Identifier: Apache-2.0
/// The typed facts that a session delivers. docs/signals.md tells for each field its source in the kernel and its
/// error.
///
/// Everywhere: times are nanoseconds of the boot clock (CLOCK_BOOTTIME), sizes are bytes, and what is not known is
/// absent (std::nullopt), never 0.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <tracer/event_kind.hpp>
#include <tracer/export.hpp>
#include <tracer/process.hpp>
#include <tracer/sample.hpp>

namespace tracer {

/// A process began: by fork, or, with attached_ns, it lived before the session did.
struct ProcessStart {
  static constexpr EventKind kKind = EventKind::kProcessStart;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Process> process;  ///< Never null. Runs its parent's program until it executes its own.
  std::optional<std::uint64_t> attached_ns;
};

/// A process began a new program, and so ended another.
struct ProcessExec {
  static constexpr EventKind kKind = EventKind::kProcessExec;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Process> process;  ///< Never null; with the new program.
  std::optional<std::uint64_t> attached_ns;
  ProgramAccount ended;  ///< The program that ended.
};

/// A process ended: its last thread is dead and its accounts are final.
struct ProcessExit {
  static constexpr EventKind kKind = EventKind::kProcessExit;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Process> process;  ///< Never null.
  std::optional<std::uint64_t> attached_ns;
  std::uint64_t start_ns = 0;  ///< As process->start_ns.
  std::uint64_t end_ns = 0;
  std::optional<std::int32_t> exit_code;    ///< 0 to 255; absent when a signal ended it.
  std::optional<std::int32_t> exit_signal;  ///< Absent when it exited by itself.
  bool core_dumped = false;
  bool status_is_answer = false;         ///< exit_code is the answer to what was asked: grep's "nothing found".
  std::optional<std::uint64_t> threads;  ///< Ever created, the first included.
  Account account;                       ///< Of the whole process; its peak is the last program's.
  ProgramAccount program;                ///< The last program's share.

  /// Ended by a signal, or with a status other than 0 that is no answer.
  bool failed() const noexcept { return exit_signal.has_value() || (exit_code.value_or(0) != 0 && !status_is_answer); }
};

/// Something was lost since the last event of the same cause. Sums per context are not changed by it.
struct Loss {
  static constexpr EventKind kKind = EventKind::kLoss;
  std::uint64_t time_ns = 0;
  std::string cause;        ///< As in Statistics::losses.
  std::uint64_t count = 0;  ///< More of them since the last report.
};

/// The last event of a session; a recording without it was cut short.
struct SessionEnd {
  static constexpr EventKind kKind = EventKind::kSessionEnd;
  std::uint64_t time_ns = 0;
  std::uint64_t processes_started = 0;  ///< Those that ended and those still held; pruned ones in neither.
  std::uint64_t processes_ended = 0;
  std::uint64_t exits_delivered = 0;  ///< ProcessExit events of the session.
  std::uint64_t losses = 0;           ///< Of all causes.
  /// What the session itself cost: as in Statistics::cost.
  std::optional<std::uint64_t> cost_cpu_ns;
  std::optional<std::uint64_t> cost_kernel_ns;
  std::optional<std::uint64_t> cost_memory_bytes;
  std::optional<std::uint64_t> cost_kernel_memory_bytes;
  std::optional<std::vector<std::string>> missing_families;  ///< Asked for, but refused by the kernel, or given up.
};

using Event =
    std::variant<ProcessStart, ProcessExec, ProcessExit, ProcessSample, Loss, SessionEnd, ToolSample, CgroupSample>;

TRACER_EXPORT EventKind kind_of(const Event& event) noexcept;
TRACER_EXPORT std::uint64_t time_of(const Event& event) noexcept;

/// One JSON object, `kind` first, without a line end. Bytes that are not UTF-8 become U+FFFD.
TRACER_EXPORT std::string to_json(const Event& event);

}  // namespace tracer
