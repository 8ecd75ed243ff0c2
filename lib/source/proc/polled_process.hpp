// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/ended_commands.hpp"
#include "base/proc_stat.hpp"
#include "source/proc/proc_files.hpp"
#include "source/raw_counters.hpp"
#include "source/records.hpp"

namespace tracer::internal {

/// A process that is looked at from time to time, as it was at the last look.
class PolledProcess {
 public:
  using Clock = std::chrono::steady_clock;

  /// `children_counted`: the CPU time of children that it has waited for by now is nobody's loss.
  PolledProcess(const RecordIdentity& identity, const ProcStat& stat, bool children_counted);

  /// Everything that /proc says beside `stat`, which was just read.
  void look(const ProcFiles& files, const ProcStat& stat, Clock::time_point now);
  /// Only its CPU time: a fifth of the cost.
  void glance(const ProcFiles& files, const ProcStat& stat, Clock::time_point now);
  /// It has ended, and was not waited for when this was read: what it says is final.
  void end_with(const ProcStat& stat, std::optional<SchedulerTimes> times, const std::optional<ProcStatus>& status,
                const RawAccount* io);
  /// So much of its CPU time is in no program's account, as it executed meanwhile.
  void add_in_doubt(std::uint64_t cpu_ns) noexcept { in_doubt_ns_ += cpu_ns; }
  /// A child of its own has ended, which had consumed this, with all that it had waited for.
  void child_ended(std::uint64_t cpu_ns) noexcept { ended_children_ns_ += cpu_ns; }

  RecordIdentity& identity() noexcept { return identity_; }
  const RecordIdentity& identity() const noexcept { return identity_; }
  const ProcStat& stat() const noexcept { return stat_; }
  const RawAccount& account() const noexcept { return account_; }
  /// As in Account.
  std::uint64_t missed_children_cpu_ns() const noexcept;
  std::uint64_t peak_pages() const noexcept { return peak_pages_; }
  const std::optional<ThreadRecord::Memory>& memory() const noexcept { return memory_; }
  /// What its parent gets to know of it when it waits for it, as far as it is in the accounts of programs.
  std::uint64_t cpu_with_children_ns() const noexcept;
  std::uint64_t most_threads() const noexcept { return most_threads_; }
  /// False: what end_with() said of its CPU time may lack up to two ticks, as threads had ended before.
  bool ended_exactly() const noexcept { return ended_exactly_; }
  RecordFlags flags() const noexcept;

  std::uint64_t attached_ns = 0;
  std::uint64_t program_start_ns = 0;
  bool told_end = false;  ///< Its end was reported; nobody has waited for it yet.
  /// Who will wait for it, as far as it can be seen: its parent, or where that has ended, the one that it was a child
  /// of.
  std::uint32_t waiter_pid = 0;
  bool has_children = false;  ///< One that is followed was its child.

  Clock::time_point next_look() const noexcept { return next_look_; }

 private:
  void set_known(unsigned parts, bool known) noexcept;
  void take(const ProcStat& stat, std::optional<SchedulerTimes> times) noexcept;
  void take(const std::optional<ProcStatus>& status, const RawAccount* io) noexcept;
  Clock::duration age() const noexcept;

  RecordIdentity identity_;
  ProcStat stat_;
  RawAccount account_;
  std::uint64_t in_doubt_ns_ = 0;
  std::uint64_t peak_pages_ = 0;
  std::optional<ThreadRecord::Memory> memory_;
  std::uint64_t most_threads_ = 1;
  std::uint64_t children_before_ns_ = 0;
  std::uint64_t ended_children_ns_ = 0;
  bool ended_exactly_ = false;
  Clock::time_point next_look_{};
  Clock::time_point next_whole_look_{};
};

}  // namespace tracer::internal
