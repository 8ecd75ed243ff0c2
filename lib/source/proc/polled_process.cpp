// SPDX-License-Identifier: Apache-2.0
#include "source/proc/polled_process.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "source/proc/poll_clock.hpp"

namespace tracer::internal {

PolledProcess::PolledProcess(const RecordIdentity& identity, const ProcStat& stat, bool children_counted)
    : waiter_pid(stat.parent_pid),
      identity_(identity),
      stat_(stat),
      children_before_ns_(children_counted ? stat.children_cpu_ns : 0) {}

/// What of it a tick hides is at most two: of user and of system time.
void PolledProcess::take(const ProcStat& stat, std::optional<SchedulerTimes> times) noexcept {
  stat_ = stat;
  most_threads_ = std::max(most_threads_, stat.threads);
  const std::uint64_t ticks_ns = stat.user_ns + stat.system_ns;
  account_.cpu_ns = std::max({account_.cpu_ns, ticks_ns, times ? times->cpu_ns : 0});
  account_.user_sampled_ns = stat.user_ns;
  account_.system_sampled_ns = stat.system_ns;
  account_.minor_faults = stat.minor_faults;
  account_.major_faults = stat.major_faults;
  // Both are told of the first thread alone.
  const bool one_thread = most_threads_ <= 1;
  unknown_parts_ &= static_cast<std::uint8_t>(~(kRunQueuePart | kSwitchesPart));
  if (!times || !one_thread) unknown_parts_ |= kRunQueuePart;
  if (!one_thread) unknown_parts_ |= kSwitchesPart;
  if (times) account_.run_queue_ns = times->run_queue_ns;
  ended_exactly_ = times && one_thread && times->cpu_ns < ticks_ns + 2 * tick_ns();
}

void PolledProcess::take(const std::optional<ProcStatus>& status, const RawAccount* io) noexcept {
  if (status) {
    account_.voluntary_switches = status->voluntary_switches;
    account_.involuntary_switches = status->involuntary_switches;
    peak_pages_ = status->peak_pages != 0 ? status->peak_pages : peak_pages_;
    memory_ = status->memory;
    identity_.uid = status->uid;
  } else {
    unknown_parts_ |= kSwitchesPart;
  }
  unknown_parts_ &= static_cast<std::uint8_t>(~(kCallsPart | kStoragePart));
  if (io == nullptr) {
    unknown_parts_ |= kCallsPart | kStoragePart;
    return;
  }
  account_.read_bytes = io->read_bytes;
  account_.written_bytes = io->written_bytes;
  account_.read_calls = io->read_calls;
  account_.write_calls = io->write_calls;
  account_.storage_read_bytes = io->storage_read_bytes;
  account_.storage_written_bytes = io->storage_written_bytes;
  account_.storage_cancelled_bytes = io->storage_cancelled_bytes;
}

PolledProcess::Clock::duration PolledProcess::age() const noexcept {
  const std::uint64_t now_ns = boot_time_ns();
  return std::chrono::nanoseconds(now_ns - std::min(now_ns, identity_.start_ns));
}

void PolledProcess::look(const ProcFiles& files, const ProcStat& stat, Clock::time_point now) {
  take(stat, files.scheduler_times(identity_.pid));
  RawAccount io;
  const bool has_io = files.io(identity_.pid, io);
  take(files.status(identity_.pid), has_io ? &io : nullptr);
  next_look_ = next_whole_look_ = now + PollClock::pause_of(age());
}

void PolledProcess::glance(const ProcFiles& files, const ProcStat& stat, Clock::time_point now) {
  constexpr int kGlancesPerLook = 4;
  if (now >= next_whole_look_) {
    look(files, stat, now);
    next_whole_look_ = now + kGlancesPerLook * (next_look_ - now);
    return;
  }
  take(stat, files.scheduler_times(identity_.pid));
  next_look_ = now + PollClock::pause_of(age());
}

void PolledProcess::end_with(const ProcStat& stat, std::optional<SchedulerTimes> times,
                             const std::optional<ProcStatus>& status, const RawAccount* io) {
  take(stat, times);
  take(status, io);
}

std::uint64_t PolledProcess::missed_children_cpu_ns() const noexcept {
  const std::uint64_t seen_ns = children_before_ns_ + ended_children_ns_;
  return stat_.children_cpu_ns - std::min(stat_.children_cpu_ns, seen_ns);
}

std::uint64_t PolledProcess::cpu_with_children_ns() const noexcept {
  return account_.cpu_ns - std::min(account_.cpu_ns, in_doubt_ns_) +
         std::max(stat_.children_cpu_ns, children_before_ns_ + ended_children_ns_);
}

RecordFlags PolledProcess::flags() const noexcept {
  RecordFlags flags;
  flags.polled = true;
  flags.lived_before = true;
  flags.copy = (stat_.flags & kForkedOnly) != 0;
  flags.unknown_parts = unknown_parts_;
  return flags;
}

}  // namespace tracer::internal
