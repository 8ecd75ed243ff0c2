// SPDX-License-Identifier: Apache-2.0
/// From the wire records of the lifecycle to records.
#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "source/kernel/families/lifecycle.hpp"
#include "source/kernel/process_waits.hpp"
#include "source/kernel/program_text.hpp"
#include "source/kernel/ring/wire_reading.hpp"
#include "wire.h"

namespace tracer::internal {
namespace {

static_assert(sizeof(RawCounts) == sizeof(tracer_wire_account) && sizeof(RawWaits) == sizeof(tracer_wire_waits) &&
              offsetof(RawCounts, storage_cancelled_bytes) == offsetof(tracer_wire_account, storage_cancelled_bytes) &&
              offsetof(RawCounts, read_bytes) == offsetof(tracer_wire_account, read_bytes) &&
              offsetof(RawWaits, wait_ns) == offsetof(tracer_wire_waits, wait_ns) &&
              offsetof(RawWaits, limits_known) == offsetof(tracer_wire_waits, limits_known) &&
              offsetof(RawWaits, lock_peer_ns) == offsetof(tracer_wire_waits, lock_peer_ns));
constexpr bool same(WaitCause cause, int wire) { return static_cast<int>(cause) == wire; }
static_assert(kWaitCauses == TRACER_WAIT_CAUSES && same(WaitCause::kNone, TRACER_WAIT_NONE) &&
              same(WaitCause::kDisk, TRACER_WAIT_DISK) && same(WaitCause::kPipeRead, TRACER_WAIT_PIPE_READ) &&
              same(WaitCause::kPipeWrite, TRACER_WAIT_PIPE_WRITE) && same(WaitCause::kNetwork, TRACER_WAIT_NETWORK) &&
              same(WaitCause::kLock, TRACER_WAIT_LOCK) && same(WaitCause::kChild, TRACER_WAIT_CHILD) &&
              same(WaitCause::kSleep, TRACER_WAIT_SLEEP) && same(WaitCause::kPoll, TRACER_WAIT_POLL) &&
              same(WaitCause::kReclaim, TRACER_WAIT_RECLAIM) && same(WaitCause::kSwap, TRACER_WAIT_SWAP) &&
              same(WaitCause::kStopped, TRACER_WAIT_STOPPED) && same(WaitCause::kOther, TRACER_WAIT_OTHER) &&
              same(WaitCause::kThrottled, TRACER_WAIT_THROTTLED) &&
              same(WaitCause::kLocalSocket, TRACER_WAIT_LOCAL_SOCKET));
static_assert(kMostExecReadBytes == TRACER_MOST_EXEC_READ_BYTES);

RawAccount account_of(const tracer_wire_account& wire) noexcept { return {std::bit_cast<RawCounts>(wire)}; }
RawWaits waits_of(const tracer_wire_waits& wire) noexcept { return std::bit_cast<RawWaits>(wire); }

RawProcessWaits process_waits_of(const std::optional<RawProcessWaits>& own, const RawWaits& waits) noexcept {
  if (waits.threads == 0) return {};
  return own ? *own : waits_of_only_thread(waits);
}

RecordFlags flags_of(std::uint32_t bits) noexcept {
  const auto has = [bits](std::uint32_t bit) { return (bits & bit) != 0; };
  RecordFlags flags;
  flags.lived_before = has(TRACER_FLAG_ADOPTED_LIFE);
  flags.lost_threads = has(TRACER_FLAG_LOST_THREADS);
  flags.executed = has(TRACER_FLAG_EXECUTED);
  flags.peak_exact = has(TRACER_FLAG_PEAK_EXACT);
  flags.borrows_memory = has(TRACER_FLAG_PEAK_SHARED);
  flags.threads_pending = has(TRACER_FLAG_THREADS_PENDING);
  flags.cpu_stale = has(TRACER_FLAG_CPU_STALE);
  flags.copy = has(TRACER_FLAG_COPY);
  flags.lost_sums = has(TRACER_FLAG_SUMS_LOST);
  return flags;
}

std::optional<ThreadState> state_of(std::uint32_t wire) noexcept {
  switch (wire) {
    case TRACER_STATE_RUNNING: return ThreadState::kRunning;
    case TRACER_STATE_SLEEPING: return ThreadState::kSleeping;
    case TRACER_STATE_UNINTERRUPTIBLE: return ThreadState::kUninterruptible;
    case TRACER_STATE_STOPPED: return ThreadState::kStopped;
    default: return std::nullopt;
  }
}

/// Each of these returns false for a record that is too short or contradicts itself.
bool take_start(std::span<const std::byte> bytes, StartRecord& record) {
  tracer_wire_process_start wire;
  if (!take(bytes, wire)) return false;
  if (!take_identity(wire.header, wire.identity, record.identity)) return false;
  record.excluded = (wire.flags & TRACER_FLAG_EXCLUDED) != 0;
  if ((wire.flags & TRACER_FLAG_ADOPTED_LIFE) != 0) record.attached_ns = wire.header.time_ns;
  record.executing = (wire.flags & TRACER_FLAG_AT_EXEC) != 0;
  return true;
}

bool take_exec(std::span<const std::byte> bytes, ExecRecord& record) {
  tracer_wire_process_exec wire;
  if (!take(bytes, wire)) return false;
  std::string_view rest = text_after(bytes, sizeof wire);
  const auto exe = cut(rest, wire.exe_size);
  const auto cwd = cut(rest, wire.cwd_size);
  const auto argv = cut(rest, wire.argv_size);
  if (!exe || !cwd || !argv) return false;

  if (!take_identity(wire.header, wire.identity, record.identity)) return false;
  record.ended_start_ns = wire.program_start_ns;
  record.total = account_of(wire.total);
  record.waits = waits_of(wire.waits);
  tracer_wire_process_waits process_waits{};
  if ((wire.flags & TRACER_FLAG_PROCESS_WAITS) != 0) {
    const auto bytes_left = cut(rest, sizeof process_waits);
    if (!bytes_left) return false;
    std::memcpy(&process_waits, bytes_left->data(), sizeof process_waits);
  }
  record.process_waits = process_waits_of(whole_waits_of(process_waits, record.waits.limits_known != 0), record.waits);
  record.ended_peak_pages = wire.peak_pages;
  if (wire.cpus_allowed != 0) record.cpus_allowed = wire.cpus_allowed;
  record.flags = flags_of(wire.flags);
  record.text.exe = path_of(*exe, (wire.flags & TRACER_FLAG_EXE_CUT) != 0);
  record.text.cwd = path_of(*cwd, (wire.flags & TRACER_FLAG_CWD_CUT) != 0);
  record.text.euid = wire.euid;
  if (wire.cwd_inode != 0) record.text.folder = Folder{wire.cwd_inode, wire.cwd_device, wire.cwd_owner};
  if ((wire.flags & TRACER_FLAG_ARGV_UNREADABLE) == 0) set_argv(record.text, *argv, wire.argv_total);
  return true;
}

bool take_exit(std::span<const std::byte> bytes, ExitRecord& record) {
  tracer_wire_process_exit wire;
  if (!take(bytes, wire)) return false;
  if (!take_identity(wire.header, wire.identity, record.identity)) return false;
  record.attached_ns = unless_zero(wire.attached_ns);
  const std::uint32_t signal = wire.exit_code & 0x7fu;
  if (signal != 0) {
    record.exit_signal = static_cast<std::int32_t>(signal);
  } else {
    record.exit_code = static_cast<std::int32_t>((wire.exit_code >> 8) & 0xffu);
  }
  record.core_dumped = (wire.exit_code & 0x80u) != 0;
  if ((wire.flags & TRACER_FLAG_SENT_BY_KERNEL) != 0) {
    record.exit_signal_sender = SignalSender::kKernel;
    record.oom_killed = (wire.flags & TRACER_FLAG_OOM_KILLED) != 0;
  } else if ((wire.flags & TRACER_FLAG_SENT_BY_PROCESS) != 0) {
    record.exit_signal_sender = SignalSender::kProcess;
    if (wire.signal_sender_pid != 0) record.exit_signal_sender_pid = wire.signal_sender_pid;
  }
  record.broken_pipe_ns = unless_zero(wire.broken_pipe_ns);
  if ((wire.flags & TRACER_FLAG_THREADS_UNKNOWN) == 0) record.threads = wire.threads_created;
  record.program_start_ns = wire.program_start_ns;
  record.total = account_of(wire.total);
  record.waits = waits_of(wire.waits);
  record.peak_pages = wire.peak_pages;
  record.read_before_exec_bytes = wire.read_before_exec_bytes;
  record.flags = flags_of(wire.flags);
  tracer_wire_process_waits process_waits{};
  if ((wire.flags & TRACER_FLAG_LATE_THREADS) != 0) {
    tracer_wire_account late;
    if (!take(bytes.subspan(sizeof wire), late)) return false;
    record.late = account_of(late);
    if (!take(bytes.subspan(sizeof wire + sizeof late), process_waits)) return false;
  }
  record.process_waits = process_waits_of(whole_waits_of(process_waits, record.waits.limits_known != 0), record.waits);
  return true;
}

bool take_cgroup(std::span<const std::byte> bytes, CgroupRecord& record) {
  tracer_wire_cgroup wire;
  if (!take(bytes, wire)) return false;
  std::string_view rest = text_after(bytes, sizeof wire);
  const auto path = cut(rest, wire.path_size);
  if (!path) return false;
  record.cgroup_id = wire.cgroup_id;
  if (!take_hierarchy(wire.hierarchy, record.hierarchy)) return false;
  record.path = wire.reversed != 0 ? path_of(*path, false) : std::string(path->substr(0, path->find('\0')));
  return true;
}

bool take_thread(std::span<const std::byte> bytes, ThreadRecord& record) {
  tracer_wire_thread wire;
  if (!take(bytes, wire)) return false;
  if (!take_identity(wire.header, wire.identity, record.identity)) return false;
  record.attached_ns = unless_zero(wire.attached_ns);
  record.lives = wire.tid != 0;
  record.sum = sum_of(account_of(wire.own), account_of(wire.ended));
  record.waits = waits_of(wire.waits);
  const auto own = whole_waits_of(wire.process_waits, record.waits.limits_known != 0);
  if (own || wire.tid == wire.header.pid) record.process_waits = process_waits_of(own, record.waits);
  record.read_before_exec_bytes = wire.read_before_exec_bytes;
  record.flags = flags_of(wire.flags);
  record.newly_adopted = wire.newly_adopted != 0;
  if (wire.has_memory != 0)
    record.memory = ThreadRecord::Memory{wire.anonymous_pages, wire.file_pages, wire.shared_pages, wire.huge_pages};
  record.state = state_of(wire.state);
  return true;
}

constexpr WireRecord kLifecycleRecords[] = {
    {TRACER_WIRE_PROCESS_START, decode_as<StartRecord, take_start>},
    {TRACER_WIRE_PROCESS_EXEC, decode_as<ExecRecord, take_exec>},
    {TRACER_WIRE_PROCESS_EXIT, decode_as<ExitRecord, take_exit>},
    {TRACER_WIRE_CGROUP, decode_as<CgroupRecord, take_cgroup>},
    {TRACER_WIRE_THREAD, decode_as<ThreadRecord, take_thread>},
};

}  // namespace

std::span<const WireRecord> LifecycleFamily::records() const noexcept { return kLifecycleRecords; }

}  // namespace tracer::internal
