// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/decoder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "source/kernel/program_text.hpp"
#include "wire.h"

namespace tracer::internal {
namespace {

static_assert(sizeof(RawAccount) == sizeof(tracer_wire_account) && sizeof(RawWaits) == sizeof(tracer_wire_waits) &&
              offsetof(RawAccount, storage_cancelled_bytes) == offsetof(tracer_wire_account, storage_cancelled_bytes) &&
              offsetof(RawAccount, read_bytes) == offsetof(tracer_wire_account, read_bytes) &&
              offsetof(RawWaits, wait_ns) == offsetof(tracer_wire_waits, wait_ns) &&
              offsetof(RawWaits, limits_known) == offsetof(tracer_wire_waits, limits_known));
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

/// Copies a record's fixed part; false when the bytes are too few.
template <class T>
bool take(std::span<const std::byte> bytes, T& record) noexcept {
  if (bytes.size() < sizeof record) return false;
  std::memcpy(&record, bytes.data(), sizeof record);
  return true;
}

/// Cuts `size` bytes off the front of `rest`; absent when there are not so many.
std::optional<std::string_view> cut(std::string_view& rest, std::size_t size) noexcept {
  if (rest.size() < size) return std::nullopt;
  const std::string_view part = rest.substr(0, size);
  rest.remove_prefix(size);
  return part;
}

std::string_view text_after(std::span<const std::byte> bytes, std::size_t fixed) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()) + fixed, bytes.size() - fixed};
}

RawAccount account_of(const tracer_wire_account& wire) noexcept { return std::bit_cast<RawAccount>(wire); }
RawWaits waits_of(const tracer_wire_waits& wire) noexcept { return std::bit_cast<RawWaits>(wire); }

/// Absent: the process never had a second thread, so its waits are those of its thread.
std::optional<RawProcessWaits> process_waits_of(const tracer_wire_process_waits& wire, bool limits_known) noexcept {
  if (wire.life_ns == 0) return std::nullopt;
  RawProcessWaits waits{wire.life_ns, wire.life_ns, wire.run_queue_ns, {}, limits_known};
  const auto take_off = [&waits](std::uint64_t time_ns) { waits.running_ns -= std::min(waits.running_ns, time_ns); };
  take_off(wire.run_queue_ns);
  for (std::size_t cause = 0; cause < kWaitCauses; ++cause) {
    waits.wait_ns[cause] = wire.wait_ns[cause];
    take_off(wire.wait_ns[cause]);
  }
  return waits;
}

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

/// False: there is no such hierarchy.
bool take_hierarchy(std::uint32_t wire, Hierarchy& hierarchy) noexcept {
  switch (wire) {
    case TRACER_HIERARCHY_V2: hierarchy = Hierarchy::kV2; return true;
    case TRACER_HIERARCHY_V1_MEMORY: hierarchy = Hierarchy::kV1Memory; return true;
    case TRACER_HIERARCHY_V1_PIDS: hierarchy = Hierarchy::kV1Pids; return true;
    default: return false;
  }
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

/// False: it contradicts itself.
bool take_identity(const tracer_wire_header& header, const tracer_wire_identity& wire, RecordIdentity& identity) {
  identity.time_ns = header.time_ns;
  identity.start_ns = header.start_ns;
  identity.pid = header.pid;
  identity.parent_pid = wire.parent_pid;
  identity.parent_start_ns = wire.parent_start_ns;
  if (wire.uid != TRACER_SAME_UID) identity.uid = wire.uid;
  identity.context_id = wire.context_id;
  identity.cgroup_id = wire.cgroup_id;
  if (wire.pid_namespace != 0) identity.pid_namespace = wire.pid_namespace;
  if (wire.mount_namespace != 0) identity.mount_namespace = wire.mount_namespace;
  identity.comm.assign(wire.comm, ::strnlen(wire.comm, sizeof wire.comm));
  return take_hierarchy(wire.hierarchy, identity.hierarchy);
}

std::optional<std::uint64_t> unless_zero(std::uint64_t value) noexcept {
  if (value == 0) return std::nullopt;
  return value;
}

/// Components, leaf first and each ended by NUL, to a path.
std::string path_of(std::string_view components, bool cut_off) {
  std::vector<std::string_view> names;
  while (!components.empty()) {
    const std::size_t end = std::min(components.find('\0'), components.size());
    names.push_back(components.substr(0, end));
    components.remove_prefix(std::min(end + 1, components.size()));
  }
  std::string path = cut_off ? "…" : "";
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    path += '/';
    path += *name;
  }
  return path.empty() ? "/" : path;
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
  record.process_waits =
      process_waits_of(process_waits_of(process_waits, record.waits.limits_known != 0), record.waits);
  record.ended_peak_pages = wire.peak_pages;
  record.flags = flags_of(wire.flags);
  record.text.exe = path_of(*exe, (wire.flags & TRACER_FLAG_EXE_CUT) != 0);
  record.text.cwd = path_of(*cwd, (wire.flags & TRACER_FLAG_CWD_CUT) != 0);
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
  record.process_waits =
      process_waits_of(process_waits_of(process_waits, record.waits.limits_known != 0), record.waits);
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
  const auto own = process_waits_of(wire.process_waits, record.waits.limits_known != 0);
  if (own || wire.tid == wire.header.pid) record.process_waits = process_waits_of(own, record.waits);
  record.read_before_exec_bytes = wire.read_before_exec_bytes;
  record.flags = flags_of(wire.flags);
  record.newly_adopted = wire.newly_adopted != 0;
  if (wire.has_memory != 0)
    record.memory = ThreadRecord::Memory{wire.anonymous_pages, wire.file_pages, wire.shared_pages};
  record.state = state_of(wire.state);
  return true;
}

bool take_file(std::span<const std::byte> bytes, FileRecord& record) {
  tracer_wire_file wire;
  if (!take(bytes, wire)) return false;
  record.pid = wire.header.pid;
  record.start_ns = wire.header.start_ns;
  record.time_ns = wire.header.time_ns;
  record.inode = wire.inode;
  record.size_bytes = wire.size_bytes;
  record.position_bytes = wire.position_bytes;
  record.device = wire.device;
  record.fd = wire.fd;
  record.readable = wire.readable != 0;
  record.writable = wire.writable != 0;
  record.name.assign(wire.name, ::strnlen(wire.name, sizeof wire.name));
  return true;
}

/// Made in its place, as it is large.
template <class R>
R& made(std::optional<Record>& record) {
  return std::get<R>(record.emplace(std::in_place_type<R>));
}

}  // namespace

std::optional<Record> Decoder::decode(std::span<const std::byte> bytes) {
  records_.add(1);
  record_bytes_.add(bytes.size());
  tracer_wire_header header;
  std::optional<Record> record;
  bool good = false;
  if (take(bytes, header) && header.size >= sizeof header && header.size <= bytes.size()) {
    bytes = bytes.first(header.size);
    switch (header.kind) {
      case TRACER_WIRE_PROCESS_START: good = take_start(bytes, made<StartRecord>(record)); break;
      case TRACER_WIRE_PROCESS_EXEC: good = take_exec(bytes, made<ExecRecord>(record)); break;
      case TRACER_WIRE_PROCESS_EXIT: good = take_exit(bytes, made<ExitRecord>(record)); break;
      case TRACER_WIRE_CGROUP: good = take_cgroup(bytes, made<CgroupRecord>(record)); break;
      case TRACER_WIRE_THREAD: good = take_thread(bytes, made<ThreadRecord>(record)); break;
      case TRACER_WIRE_FILE: good = take_file(bytes, made<FileRecord>(record)); break;
      default: unknown_kinds_.add(1); return std::nullopt;
    }
  }
  if (good) return record;
  malformed_.add(1);
  return std::nullopt;
}

void Decoder::feed(std::span<const std::byte> bytes, Feed& feed) noexcept try {
  if (std::optional<Record> record = decode(bytes)) feed.record(std::move(*record));
} catch (...) {
  count_out_of_memory();
}

void Decoder::add_to(Counters& counters) const {
  counters.records += records_.value();
  counters.record_bytes += record_bytes_.value();
  const auto note = [&counters](const char* cause, const Counter& count) {
    if (count.value() != 0) counters.losses[cause] += count.value();
  };
  note("record_malformed", malformed_);
  note("record_unknown_kind", unknown_kinds_);
  note("out_of_memory", out_of_memory_);
}

std::uint64_t time_of_wire(std::span<const std::byte> bytes) noexcept {
  tracer_wire_header header;
  return take(bytes, header) ? header.time_ns : 0;
}

}  // namespace tracer::internal
