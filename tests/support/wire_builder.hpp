// SPDX-License-Identifier: Apache-2.0
/// Makes wire records as the kernel side would, for tests of what reads them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "raw_builder.hpp"
#include "wire.h"

namespace wire {

using Bytes = std::vector<std::byte>;

/// The header and the identity of a record.
struct Who {
  std::uint32_t pid = 0;
  std::uint64_t start_ns = 0;
  std::uint32_t parent_pid = 0;
  std::uint64_t parent_start_ns = 0;
  std::uint32_t uid = 1000;
  std::uint32_t context_id = 0;
  std::uint64_t cgroup_id = 1;
  std::uint32_t hierarchy = TRACER_HIERARCHY_V2;
  std::uint32_t pid_namespace = 0;
  std::uint32_t mount_namespace = 0;
  std::string comm = {};
};

inline Who child_of(const Who& parent, std::uint32_t pid, std::uint64_t start_ns) {
  return {.pid = pid, .start_ns = start_ns, .parent_pid = parent.pid, .parent_start_ns = parent.start_ns};
}

struct Exec {
  std::uint64_t time_ns = 0;
  std::uint64_t program_start_ns = 0;
  std::string exe = "/usr/bin/samtools";
  std::string cwd = "/data";
  std::vector<std::string> argv = {"samtools", "sort"};
  std::optional<std::uint64_t> argv_total = {};  ///< Absent: what argv has.
  tracer_wire_account total = {};
  std::uint64_t peak_pages = 0;
  std::uint32_t cpus_allowed = 0;
  std::uint32_t flags = TRACER_FLAG_EXECUTED;
  tracer_wire_waits waits = {};
  tracer_wire_process_waits process_waits = {};  ///< Only with TRACER_FLAG_PROCESS_WAITS.
  std::uint64_t cwd_inode = 0;                   ///< 0: not known, as the next two.
  std::uint32_t cwd_device = 0;
  std::uint32_t cwd_owner = 0;
};

struct Exit {
  std::uint64_t time_ns = 0;
  std::uint64_t program_start_ns = 0;
  std::uint32_t exit_code = 0;  ///< As wait4 gives it.
  std::uint32_t threads = 1;
  tracer_wire_account total = {};
  std::optional<tracer_wire_account> late = {};
  tracer_wire_waits waits = {};
  tracer_wire_process_waits process_waits = {};  ///< Only with `late`.
  std::uint64_t peak_pages = 0;
  std::uint64_t read_before_exec_bytes = 0;
  std::uint64_t attached_ns = 0;
  std::uint32_t flags = 0;
  std::uint32_t signal_sender_pid = 0;
  std::uint64_t broken_pipe_ns = 0;
};

struct Thread {
  std::uint64_t time_ns = 0;
  std::uint32_t tid = 0;
  tracer_wire_account own = {};
  tracer_wire_account ended = {};
  std::uint64_t attached_ns = 0;
  std::uint32_t flags = 0;
  std::uint32_t newly_adopted = 0;
  tracer_wire_waits waits = {};
  tracer_wire_process_waits process_waits = {};
  std::optional<std::uint64_t> anonymous_pages = {};  ///< Absent: nothing is known of the process's memory.
  std::uint32_t state = TRACER_STATE_RUNNING;
};

template <class T>
void append(Bytes& bytes, const T& record) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* at = reinterpret_cast<const std::byte*>(&record);
  bytes.insert(bytes.end(), at, at + sizeof record);
}

inline void append_text(Bytes& bytes, std::string_view text) {
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
}

/// Writes the header's size once all of a record is there.
inline Bytes sized(Bytes bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  std::memcpy(bytes.data() + offsetof(tracer_wire_header, size), &size, sizeof size);
  return bytes;
}

inline tracer_wire_header header_of(std::uint16_t kind, const Who& who, std::uint64_t time_ns) {
  tracer_wire_header header{};
  header.kind = kind;
  header.time_ns = time_ns;
  header.start_ns = who.start_ns;
  header.pid = who.pid;
  return header;
}

inline tracer_wire_identity identity_of(const Who& who) {
  tracer_wire_identity identity{};
  identity.parent_start_ns = who.parent_start_ns;
  identity.cgroup_id = who.cgroup_id;
  identity.parent_pid = who.parent_pid;
  identity.uid = who.uid;
  identity.context_id = who.context_id;
  identity.pid_namespace = who.pid_namespace;
  identity.mount_namespace = who.mount_namespace;
  identity.hierarchy = who.hierarchy;
  std::memcpy(identity.comm, who.comm.data(), std::min(who.comm.size(), sizeof identity.comm));
  return identity;
}

/// "/usr/bin/sh" to "sh\0bin\0usr\0".
inline std::string components(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const std::size_t slash = path.rfind('/');
    const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    if (!name.empty()) out.append(name).push_back('\0');
    path = slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
  }
  return out;
}

inline std::string joined(const std::vector<std::string>& argv) {
  std::string out;
  for (const std::string& word : argv) out.append(word).push_back('\0');
  return out;
}

inline Bytes start_record(const Who& who, std::uint32_t flags = 0, std::optional<std::uint64_t> time_ns = {}) {
  tracer_wire_process_start record{};
  record.header = header_of(TRACER_WIRE_PROCESS_START, who, time_ns.value_or(who.start_ns));
  record.identity = identity_of(who);
  record.flags = flags;
  Bytes bytes;
  append(bytes, record);
  return sized(std::move(bytes));
}

/// With the argument vector's bytes as they are, for cut ones.
inline Bytes exec_record(const Who& who, const Exec& exec, const std::string& argv_bytes) {
  const std::string exe = components(exec.exe);
  const std::string cwd = components(exec.cwd);
  tracer_wire_process_exec record{};
  record.header = header_of(TRACER_WIRE_PROCESS_EXEC, who, exec.time_ns);
  record.identity = identity_of(who);
  record.total = exec.total;
  record.program_start_ns = exec.program_start_ns;
  record.peak_pages = exec.peak_pages;
  record.cpus_allowed = exec.cpus_allowed;
  record.waits = exec.waits;
  record.argv_total = exec.argv_total.value_or(argv_bytes.size());
  record.flags = exec.flags;
  record.threads_created = 1;
  record.exe_size = static_cast<std::uint16_t>(exe.size());
  record.cwd_size = static_cast<std::uint16_t>(cwd.size());
  record.cwd_inode = exec.cwd_inode;
  record.cwd_device = exec.cwd_device;
  record.cwd_owner = exec.cwd_owner;
  record.argv_size = static_cast<std::uint32_t>(argv_bytes.size());
  Bytes bytes;
  append(bytes, record);
  append_text(bytes, exe);
  append_text(bytes, cwd);
  append_text(bytes, argv_bytes);
  if ((exec.flags & TRACER_FLAG_PROCESS_WAITS) != 0) append(bytes, exec.process_waits);
  return sized(std::move(bytes));
}

inline Bytes exec_record(const Who& who, const Exec& exec) { return exec_record(who, exec, joined(exec.argv)); }

inline Bytes exit_record(const Who& who, const Exit& exit) {
  tracer_wire_process_exit record{};
  record.header = header_of(TRACER_WIRE_PROCESS_EXIT, who, exit.time_ns);
  record.identity = identity_of(who);
  record.total = exit.total;
  record.program_start_ns = exit.program_start_ns;
  record.attached_ns = exit.attached_ns;
  record.peak_pages = exit.peak_pages;
  record.read_before_exec_bytes = exit.read_before_exec_bytes;
  record.waits = exit.waits;
  record.flags = exit.flags | (exit.late ? TRACER_FLAG_LATE_THREADS : 0u);
  record.exit_code = exit.exit_code;
  record.threads_created = exit.threads;
  record.signal_sender_pid = exit.signal_sender_pid;
  record.broken_pipe_ns = exit.broken_pipe_ns;
  Bytes bytes;
  append(bytes, record);
  if (exit.late) {
    append(bytes, *exit.late);
    append(bytes, exit.process_waits);
  }
  return sized(std::move(bytes));
}

/// Reversed: the path's components, leaf first.
inline Bytes cgroup_record(std::uint64_t id, std::string_view path, bool reversed = false,
                           std::uint32_t hierarchy = TRACER_HIERARCHY_V2) {
  const std::string text = reversed ? components(path) : std::string(path);
  tracer_wire_cgroup record{};
  record.header = header_of(TRACER_WIRE_CGROUP, {}, 0);
  record.cgroup_id = id;
  record.hierarchy = hierarchy;
  record.path_size = static_cast<std::uint16_t>(text.size());
  record.reversed = reversed ? 1 : 0;
  Bytes bytes;
  append(bytes, record);
  append_text(bytes, text);
  return sized(std::move(bytes));
}

inline Bytes cgroup_end_record(std::uint64_t id, std::uint64_t time_ns,
                               std::optional<std::uint64_t> peak_pages = std::nullopt,
                               std::uint32_t hierarchy = TRACER_HIERARCHY_V2) {
  tracer_wire_cgroup_end record{};
  record.header = header_of(TRACER_WIRE_CGROUP_END, {}, time_ns);
  record.cgroup_id = id;
  record.hierarchy = hierarchy;
  record.peak_pages = peak_pages.value_or(0);
  record.has_peak = peak_pages ? 1 : 0;
  Bytes bytes;
  append(bytes, record);
  return sized(std::move(bytes));
}

struct Calls {
  std::uint64_t calls = 0;
  std::uint64_t failed = 0;
  std::uint64_t duration_ns = 0;
  std::uint32_t error = 0;
};

/// `number`: of the call that has these sums; those beside it have none.
inline Bytes syscall_use_record(const Who& who, std::uint32_t number, const Calls& sums, std::uint64_t time_ns = 2000) {
  tracer_wire_syscall_use record{};
  record.header = header_of(TRACER_WIRE_SYSCALL_USE, who, time_ns);
  record.identity = identity_of(who);
  record.row = number / TRACER_SYSCALLS_OF_ROW;
  record.sums.calls[number % TRACER_SYSCALLS_OF_ROW] = {sums.calls, sums.failed, sums.duration_ns, sums.error, 0};
  Bytes bytes;
  append(bytes, record);
  return sized(std::move(bytes));
}

inline Bytes gpu_use_record(const Who& who, const tracer_gpu_sums& sums, const std::string& path,
                            std::uint64_t time_ns = 2000) {
  tracer_wire_gpu_use record{};
  record.header = header_of(TRACER_WIRE_GPU_USE, who, time_ns);
  record.identity = identity_of(who);
  record.sums = sums;
  record.library.inode = 5;
  std::memcpy(record.library.interface, "cuda", 4);
  std::memcpy(record.library.path, path.data(), std::min(path.size(), sizeof record.library.path));
  Bytes bytes;
  append(bytes, record);
  return sized(std::move(bytes));
}

inline Bytes thread_record(const Who& who, const Thread& thread) {
  tracer_wire_thread record{};
  record.header = header_of(TRACER_WIRE_THREAD, who, thread.time_ns);
  record.identity = identity_of(who);
  record.own = thread.own;
  record.process_waits = thread.process_waits;
  record.ended = thread.ended;
  record.attached_ns = thread.attached_ns;
  record.tid = thread.tid;
  record.flags = thread.flags;
  record.newly_adopted = thread.newly_adopted;
  record.waits = thread.waits;
  record.anonymous_pages = thread.anonymous_pages.value_or(0);
  record.has_memory = thread.anonymous_pages ? 1 : 0;
  record.state = thread.state;
  Bytes bytes;
  append(bytes, record);
  return sized(std::move(bytes));
}

/// A copy of exactly its size on the heap, so that a sanitizer sees a read beyond it.
class Exact {
 public:
  explicit Exact(std::span<const std::byte> bytes) : data_(new std::byte[bytes.size()]), size_(bytes.size()) {
    std::copy(bytes.begin(), bytes.end(), data_.get());
  }
  std::span<const std::byte> span() const noexcept { return {data_.get(), size_}; }

 private:
  std::unique_ptr<std::byte[]> data_;
  std::size_t size_;
};

inline Bytes file_record(const tracer_wire_file& file) {
  Bytes bytes;
  append(bytes, file);
  return sized(std::move(bytes));
}

/// Every counter different, so that a mix-up shows.
inline tracer_wire_account counted(std::uint64_t unit) {
  return std::bit_cast<tracer_wire_account>(tracer::internal::RawCounts(raw::counted(unit)));
}

/// `cgroup` absent: the memory of the host had run out.
inline Bytes oom_kill_record(const Who& who, std::uint64_t time_ns, std::optional<std::string> cgroup,
                             std::uint32_t allocator_pid = 0) {
  tracer_wire_oom_kill record{};
  record.header = header_of(TRACER_WIRE_OOM_KILL, who, time_ns);
  record.identity = identity_of(who);
  record.allocator_pid = allocator_pid;
  std::string path;
  if (cgroup) {
    path = components(*cgroup);
    record.has_cgroup = 1;
    record.limit_pages = 100;
    record.usage_pages = 99;
    record.peak_pages = 100;
    record.path_size = static_cast<std::uint32_t>(path.size());
  }
  Bytes bytes;
  append(bytes, record);
  append_text(bytes, path);
  return sized(std::move(bytes));
}

struct FileUse {
  std::uint64_t inode = 5;
  std::uint32_t device = 8;
  std::uint32_t generation = 3;
  std::uint64_t opens = 1;
  std::uint64_t more_opens = 1;
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t closed_ns = 2000;
  bool created = false;
  bool reads = false;
  bool writes = false;
  std::string path = {};  ///< Empty: a later record of the file.
  bool fresh = true;
  std::uint64_t opened_ns = 0;
  bool open_unknown = false;
  std::string filesystem = {};
  std::string subtype = {};
  std::uint8_t change = TRACER_FILE_CLOSED;
  std::string new_path = {};
  std::uint32_t renames = 0;
  std::uint32_t deletes = 0;
  std::uint32_t more_renames = 0;
  std::uint32_t more_deletes = 0;
  bool moves_unseen = false;
  std::uint32_t begins = 0;
  bool may_begin = false;
  bool reads_earlier = false;
  std::uint64_t modified_ns = 0;
};

inline Bytes file_use_record(const Who& who, const FileUse& use) {
  tracer_wire_file_use record{};
  record.header = header_of(TRACER_WIRE_FILE_USE, who, use.closed_ns);
  record.identity = identity_of(who);
  record.key.start_ns = who.start_ns;
  record.key.pid = who.pid;
  record.key.inode = use.inode;
  record.key.device = use.device;
  record.key.generation = use.generation;
  record.sums.opens = use.opens;
  record.more_opens = use.more_opens;
  record.sums.read_bytes = use.read_bytes;
  record.sums.written_bytes = use.written_bytes;
  record.sums.size_bytes = use.size_bytes;
  record.sums.closed_ns = use.closed_ns;
  record.sums.created = use.created ? 1 : 0;
  record.sums.reads = use.reads ? 1 : 0;
  record.sums.writes = use.writes ? 1 : 0;
  record.sums.opened_ns = use.opened_ns;
  record.sums.open_unknown = use.open_unknown ? 1 : 0;
  use.filesystem.copy(record.filesystem, sizeof record.filesystem);
  use.subtype.copy(record.subtype, sizeof record.subtype);
  record.fresh = use.fresh ? 1 : 0;
  record.change = use.change;
  record.sums.renames = use.renames;
  record.sums.deletes = use.deletes;
  record.sums.moves_unseen = use.moves_unseen ? 1 : 0;
  record.sums.begins = use.begins;
  record.sums.may_begin = use.may_begin ? 1 : 0;
  record.sums.reads_earlier = use.reads_earlier ? 1 : 0;
  record.sums.modified_ns = use.modified_ns;
  record.more_renames = use.more_renames;
  record.more_deletes = use.more_deletes;
  const std::string names = use.path.empty() ? "" : components(use.path);
  const std::string new_names = use.new_path.empty() ? "" : components(use.new_path);
  record.path_size = static_cast<std::uint32_t>(names.size());
  record.new_path_size = static_cast<std::uint32_t>(new_names.size());
  Bytes bytes;
  append(bytes, record);
  append_text(bytes, names);
  append_text(bytes, new_names);
  return sized(std::move(bytes));
}

}  // namespace wire
