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

void PolledProcess::set_known(unsigned parts, bool known) noexcept {
  const unsigned others = account_.unknown_parts & ~parts;
  account_.unknown_parts = static_cast<std::uint8_t>(known ? others : others | parts);
}

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
  // This and switches are told of the first thread alone.
  const bool one_thread = most_threads_ <= 1;
  set_known(kRunQueuePart, times && one_thread);
  if (!one_thread) set_known(kSwitchesPart, false);
  if (times) account_.run_queue_ns = times->run_queue_ns;
  ended_exactly_ = times && one_thread && times->cpu_ns < ticks_ns + 2 * tick_ns();
}

void PolledProcess::take(const std::optional<ProcStatus>& status, const RawAccount* io) noexcept {
  const bool has_switches = status && status->voluntary_switches && status->involuntary_switches;
  set_known(kSwitchesPart, has_switches && most_threads_ <= 1);
  if (has_switches) {
    account_.voluntary_switches = *status->voluntary_switches;
    account_.involuntary_switches = *status->involuntary_switches;
  }
  if (status) {
    peak_pages_ = status->peak_pages != 0 ? status->peak_pages : peak_pages_;
    memory_ = status->memory;
    identity_.uid = status->uid;
  }
  set_known(kCallsPart | kStoragePart, io != nullptr);
  if (io == nullptr) return;
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
  return flags;
}

}  // namespace tracer::internal
