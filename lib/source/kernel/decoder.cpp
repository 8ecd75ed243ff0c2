// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/decoder.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "correlate/account.hpp"
#include "wire.h"

namespace tracer {
namespace {

constexpr std::uint32_t kUnknownSize = 0xffffffff;

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

RecordIdentity identity_of(const tracer_wire_header& header, const tracer_wire_identity& wire) {
  RecordIdentity identity;
  identity.time_ns = header.time_ns;
  identity.start_ns = header.start_ns;
  identity.pid = header.pid;
  identity.parent_pid = wire.parent_pid;
  identity.parent_start_ns = wire.parent_start_ns;
  if (wire.uid != TRACER_SAME_UID) identity.uid = wire.uid;
  identity.context_id = wire.context_id;
  identity.cgroup_id = wire.cgroup_id;
  identity.hierarchy = wire.hierarchy;
  if (wire.pid_namespace != 0) identity.pid_namespace = wire.pid_namespace;
  if (wire.mount_namespace != 0) identity.mount_namespace = wire.mount_namespace;
  identity.comm.assign(wire.comm, ::strnlen(wire.comm, sizeof wire.comm));
  return identity;
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

/// Strings ended by NUL. With `total` beyond what is here, the middle is missing after the first 3 KiB.
std::vector<std::string> split_argv(std::string_view bytes, std::uint64_t total) {
  std::vector<std::string> argv;
  const auto add = [&argv](std::string_view part) {
    while (!part.empty()) {
      const std::size_t end = std::min(part.find('\0'), part.size());
      argv.emplace_back(part.substr(0, end));
      part.remove_prefix(std::min(end + 1, part.size()));
    }
  };
  if (total <= bytes.size() || bytes.size() <= TRACER_ARGV_HEAD_BYTES) {
    add(bytes);
    return argv;
  }
  add(bytes.substr(0, TRACER_ARGV_HEAD_BYTES));
  if (!argv.empty()) argv.back() += "…";
  const std::size_t first_of_tail = argv.size();
  add(bytes.substr(TRACER_ARGV_HEAD_BYTES));
  if (argv.size() > first_of_tail) argv[first_of_tail].insert(0, "…");
  return argv;
}

void set_argv(ProgramText& text, std::string_view bytes, std::uint64_t total) {
  text.argv = split_argv(bytes, total);
  if (total > bytes.size()) text.argv_cut_bytes = total - bytes.size();
}

std::optional<Record> decode_start(std::span<const std::byte> bytes) {
  tracer_wire_process_start wire;
  if (!take(bytes, wire)) return std::nullopt;
  StartRecord record;
  record.identity = identity_of(wire.header, wire.identity);
  record.excluded = (wire.flags & TRACER_FLAG_EXCLUDED) != 0;
  if ((wire.flags & TRACER_FLAG_ADOPTED_LIFE) != 0) record.attached_ns = wire.header.time_ns;
  return record;
}

std::optional<Record> decode_exec(std::span<const std::byte> bytes) {
  tracer_wire_process_exec wire;
  if (!take(bytes, wire)) return std::nullopt;
  std::string_view rest = text_after(bytes, sizeof wire);
  const auto exe = cut(rest, wire.exe_size);
  const auto cwd = cut(rest, wire.cwd_size);
  const auto argv = cut(rest, wire.argv_size);
  if (!exe || !cwd || !argv) return std::nullopt;

  ExecRecord record;
  record.identity = identity_of(wire.header, wire.identity);
  record.ended_start_ns = wire.program_start_ns;
  record.total = wire.total;
  record.waits = wire.waits;
  record.ended_peak_pages = wire.peak_pages;
  record.flags = wire.flags;
  record.text.exe = path_of(*exe, (wire.flags & TRACER_FLAG_EXE_CUT) != 0);
  record.text.cwd = path_of(*cwd, (wire.flags & TRACER_FLAG_CWD_CUT) != 0);
  if ((wire.flags & TRACER_FLAG_ARGV_UNREADABLE) == 0) set_argv(record.text, *argv, wire.argv_total);
  return record;
}

std::optional<Record> decode_exit(std::span<const std::byte> bytes) {
  tracer_wire_process_exit wire;
  if (!take(bytes, wire)) return std::nullopt;
  ExitRecord record;
  record.identity = identity_of(wire.header, wire.identity);
  record.attached_ns = unless_zero(wire.attached_ns);
  const std::uint32_t signal = wire.exit_code & 0x7fu;
  if (signal != 0) {
    record.exit_signal = static_cast<std::int32_t>(signal);
  } else {
    record.exit_code = static_cast<std::int32_t>((wire.exit_code >> 8) & 0xffu);
  }
  record.core_dumped = (wire.exit_code & 0x80u) != 0;
  if ((wire.flags & TRACER_FLAG_THREADS_UNKNOWN) == 0) record.threads = wire.threads_created;
  record.program_start_ns = wire.program_start_ns;
  record.total = wire.total;
  record.waits = wire.waits;
  record.peak_pages = wire.peak_pages;
  record.read_before_exec_bytes = wire.read_before_exec_bytes;
  record.flags = wire.flags;
  if ((wire.flags & TRACER_FLAG_LATE_THREADS) != 0 && !take(bytes.subspan(sizeof wire), record.late))
    return std::nullopt;
  return record;
}

std::optional<Record> decode_cgroup(std::span<const std::byte> bytes) {
  tracer_wire_cgroup wire;
  if (!take(bytes, wire)) return std::nullopt;
  std::string_view rest = text_after(bytes, sizeof wire);
  const auto path = cut(rest, wire.path_size);
  if (!path) return std::nullopt;
  CgroupRecord record;
  record.cgroup_id = wire.cgroup_id;
  record.hierarchy = wire.hierarchy;
  record.path = wire.reversed != 0 ? path_of(*path, false) : std::string(path->substr(0, path->find('\0')));
  return record;
}

std::optional<Record> decode_thread(std::span<const std::byte> bytes) {
  tracer_wire_thread wire;
  if (!take(bytes, wire)) return std::nullopt;
  ThreadRecord record;
  record.identity = identity_of(wire.header, wire.identity);
  record.attached_ns = unless_zero(wire.attached_ns);
  record.lives = wire.tid != 0;
  record.sum = sum_of(wire.own, wire.ended);
  record.waits = wire.waits;
  record.read_before_exec_bytes = wire.read_before_exec_bytes;
  record.flags = wire.flags;
  record.newly_adopted = wire.newly_adopted != 0;
  if (wire.has_memory != 0)
    record.memory = ThreadRecord::Memory{wire.anonymous_pages, wire.file_pages, wire.shared_pages};
  record.state = wire.state;
  return record;
}

std::optional<Record> decode_cgroup_memory(std::span<const std::byte> bytes) {
  tracer_wire_cgroup_memory wire;
  if (!take(bytes, wire)) return std::nullopt;
  const auto known = [](std::uint64_t value) {
    return value == TRACER_UNKNOWN ? std::nullopt : std::optional<std::uint64_t>(value);
  };
  CgroupMemoryRecord record;
  record.cgroup_id = wire.cgroup_id;
  record.hierarchy = wire.hierarchy;
  record.has_below = wire.has_below != 0;
  record.processes = known(wire.processes);
  record.foreign = known(wire.foreign);
  record.memory_bytes = known(wire.memory_bytes);
  record.peak_bytes = known(wire.peak_bytes);
  record.file_bytes = known(wire.file_bytes);
  record.kernel_bytes = known(wire.kernel_bytes);
  record.throttled_ns = known(wire.throttled_ns);
  return record;
}

std::optional<Record> decode_file(std::span<const std::byte> bytes) {
  tracer_wire_file wire;
  if (!take(bytes, wire)) return std::nullopt;
  FileRecord record;
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
  return record;
}

std::optional<Record> decode_text(std::span<const std::byte> bytes) {
  tracer_wire_text wire;
  if (!take(bytes, wire)) return std::nullopt;
  std::string_view rest = text_after(bytes, sizeof wire);
  const auto next = [&rest](std::uint32_t size) { return cut(rest, size == kUnknownSize ? 0 : size); };
  const auto exe = next(wire.exe_size);
  const auto cwd = next(wire.cwd_size);
  const auto argv = next(wire.argv_size);
  const auto cgroup = next(wire.cgroup_size);
  if (!exe || !cwd || !argv || !cgroup) return std::nullopt;
  TextRecord record;
  record.pid = wire.header.pid;
  record.start_ns = wire.header.start_ns;
  if (wire.exe_size != kUnknownSize) record.text.exe = *exe;
  if (wire.cwd_size != kUnknownSize) record.text.cwd = *cwd;
  if (wire.argv_size != kUnknownSize) set_argv(record.text, *argv, wire.argv_total);
  if (wire.cgroup_size != kUnknownSize) record.cgroup = *cgroup;
  return record;
}

}  // namespace

std::optional<Record> Decoder::decode(std::span<const std::byte> bytes) {
  tracer_wire_header header;
  std::optional<Record> record;
  if (take(bytes, header) && header.size >= sizeof header && header.size <= bytes.size()) {
    bytes = bytes.first(header.size);
    switch (header.kind) {
      case TRACER_WIRE_PROCESS_START: record = decode_start(bytes); break;
      case TRACER_WIRE_PROCESS_EXEC: record = decode_exec(bytes); break;
      case TRACER_WIRE_PROCESS_EXIT: record = decode_exit(bytes); break;
      case TRACER_WIRE_CGROUP: record = decode_cgroup(bytes); break;
      case TRACER_WIRE_THREAD: record = decode_thread(bytes); break;
      case TRACER_WIRE_CGROUP_MEMORY: record = decode_cgroup_memory(bytes); break;
      case TRACER_WIRE_FILE: record = decode_file(bytes); break;
      case TRACER_WIRE_TEXT: record = decode_text(bytes); break;
      default: ++unknown_kinds_; return std::nullopt;
    }
  }
  if (!record) ++malformed_;
  return record;
}

}  // namespace tracer
