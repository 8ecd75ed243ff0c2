// SPDX-License-Identifier: Apache-2.0
/// Records that a source yields, in the library's own terms, wherever they were read.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <tracer/event.hpp>

#include "base/folder.hpp"
#include "source/raw_counters.hpp"

namespace tracer::internal {

/// Which hierarchy a cgroup id belongs to.
enum class Hierarchy : std::uint8_t { kV2, kV1Memory, kV1Pids };

/// How what is told of a process came about.
struct RecordFlags {
  bool lived_before = false;     ///< Before it was tracked.
  bool lost_threads = false;     ///< Threads ended before it was tracked: their I/O and run-queue time are unknown.
  bool executed = false;         ///< Has executed a program since it was tracked or forked.
  bool peak_exact = false;       ///< The peak is this program's.
  bool borrows_memory = false;   ///< Its memory is its parent's (vfork, CLONE_VM): no peak of its own.
  bool threads_pending = false;  ///< Exec: threads of the ended program were still ending.
  bool cpu_stale = false;        ///< Exec: CPU time may miss up to one tick.
  bool copy = false;             ///< Lives, and has executed nothing since its fork, whenever that was.
  bool lost_sums = false;        ///< Threads that ended could not be summed: its accounts are not known.
  bool polled = false;           ///< Looked at from time to time: its missed_children_cpu_ns is known.
  bool last_look = false;        ///< It has ended since the last look: its accounts are lower bounds.

  bool operator==(const RecordFlags&) const = default;
};

enum class ThreadState : std::uint8_t { kRunning, kSleeping, kUninterruptible, kStopped };

enum class SignalSender : std::uint8_t { kKernel, kProcess };

/// In each record of a process.
struct RecordIdentity {
  std::uint64_t time_ns = 0;
  std::uint64_t start_ns = 0;
  std::uint32_t pid = 0;
  std::uint32_t parent_pid = 0;  ///< 0, as is parent_start_ns then: as before.
  std::uint64_t parent_start_ns = 0;
  std::optional<std::uint32_t> uid;  ///< Absent: as before.
  std::uint32_t context_id = 0;
  std::uint64_t cgroup_id = 0;
  Hierarchy hierarchy = Hierarchy::kV2;
  std::optional<std::uint32_t> pid_namespace;  ///< Absent, as mount_namespace: as before, or the parent's.
  std::optional<std::uint32_t> mount_namespace;
  std::string comm;  ///< Empty: as before, or the parent's.
};

struct StartRecord {
  RecordIdentity identity;
  bool excluded = false;  ///< A rule has pruned it: nothing more will be told of it.
  std::optional<std::uint64_t> attached_ns;
  bool executing = false;  ///< Taken in as it executed: its words come with its ExecRecord, which follows.
  bool again = false;      ///< Another kernel side has told of it before.
};

/// A program's words: from the exec record, or from /proc for a process that lived before.
struct ProgramText {
  std::optional<std::string> exe;
  std::optional<std::string> cwd;
  std::optional<Folder> folder;  ///< That cwd leads to.
  std::optional<std::vector<std::string>> argv;
  std::optional<std::uint64_t> argv_cut_bytes;
  std::optional<std::uint32_t> euid;  ///< With which it began.
};

struct ExecRecord {
  RecordIdentity identity;
  std::uint64_t ended_start_ns = 0;  ///< When the program began that ended here.
  RawAccount total;                  ///< Of the process, up to here.
  RawWaits waits;                    ///< Likewise.
  RawAccount in_doubt;               ///< Since `total`, of the ended program or of the next: of neither for sure.
  RawProcessWaits process_waits;     ///< Likewise.
  std::uint64_t missed_children_cpu_ns = 0;  ///< As in Account.
  std::uint64_t ended_peak_pages = 0;
  std::optional<std::uint32_t> cpus_allowed;
  RecordFlags flags;
  ProgramText text;
};

struct ExitRecord {
  RecordIdentity identity;
  std::optional<std::uint64_t> attached_ns;
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> exit_signal;
  std::optional<SignalSender> exit_signal_sender;
  std::optional<std::uint32_t> exit_signal_sender_pid;  ///< Of a process; absent: this session does not see it.
  std::optional<std::uint64_t> broken_pipe_ns;          ///< When it last wrote to what nobody reads.
  bool oom_killed = false;                              ///< The kernel sent exit_signal as memory had run out.
  bool core_dumped = false;
  std::optional<std::uint64_t> threads;
  std::uint64_t program_start_ns = 0;  ///< When its last program began.
  RawAccount total;
  RawAccount late;  ///< Share of threads of earlier programs that ended after those.
  RawWaits waits;
  RawProcessWaits process_waits;
  std::uint64_t missed_children_cpu_ns = 0;  ///< As in Account.
  std::uint64_t peak_pages = 0;
  std::uint64_t read_before_exec_bytes = 0;
  RecordFlags flags;
};

struct CgroupRecord {
  std::uint64_t cgroup_id = 0;
  Hierarchy hierarchy = Hierarchy::kV2;
  std::string path;
};

struct ThreadRecord {
  RecordIdentity identity;
  std::optional<std::uint64_t> attached_ns;
  bool lives = true;              ///< False: a first thread that has ended before others; only what has ended is in it.
  RawAccount sum;                 ///< Of this thread; in the leader's record with all that have ended.
  RawWaits waits;                 ///< Likewise.
  RawProcessWaits process_waits;  ///< In the leader's record only.
  std::uint64_t missed_children_cpu_ns = 0;  ///< As in Account.
  std::uint64_t read_before_exec_bytes = 0;
  RecordFlags flags;
  bool newly_adopted = false;
  bool again = false;  ///< Another kernel side has told of it before.
  struct Memory {
    std::uint64_t anonymous_pages = 0;
    std::uint64_t file_pages = 0;
    std::uint64_t shared_pages = 0;
    std::uint64_t huge_pages = 0;  ///< Of hugetlbfs: in none of the above, nor in the kernel's mark of the peak.
  };
  std::optional<Memory> memory;  ///< Of the process, in the record of one of its threads.
  std::optional<ThreadState> state;
  std::uint64_t threads = 1;  ///< That live, and that it stands for.
};

/// A regular file that a process has open.
struct FileRecord {
  std::uint32_t pid = 0;
  std::uint64_t start_ns = 0;
  std::uint64_t time_ns = 0;
  std::uint64_t inode = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t position_bytes = 0;
  std::uint32_t device = 0;
  std::uint32_t fd = 0;
  bool readable = false;
  bool writable = false;
  std::string name;  ///< The last component, at most 63 bytes.
};

/// What a process has done with a regular file, in all, up to its last close of it, or up to its rename or delete.
struct FileUseRecord {
  enum class Change { kClosed, kRenamed, kDeleted };
  struct File {
    std::uint64_t inode = 0;  ///< 0: several files; those that were unlinked where generation is 1.
    std::uint32_t device = 0;
    std::uint32_t generation = 0;
    std::uint32_t user = 0;  ///< As which it was used.
    auto operator<=>(const File&) const = default;
  };
  RecordIdentity identity;
  File file;
  std::uint32_t kernel_pid = 0;     ///< By which the source finds the sums again.
  std::uint64_t place = 0;          ///< Another for each name of the file.
  Change change = Change::kClosed;  ///< What was done last.
  std::optional<std::string> path;  ///< In the first record of a file; and with a change, before that.
  bool path_cut = false;
  std::optional<std::string> new_path;  ///< After a rename.
  bool fresh = false;                   ///< The sums began anew with this record.
  std::uint32_t account = 0;            ///< That the source charges it to.
  bool no_room = false;                 ///< Of files that are not told apart: as their user has taken its share.
  std::uint64_t opens = 0;
  std::optional<std::uint64_t> renames;  ///< Absent, as deletes: this kernel shows none.
  std::optional<std::uint64_t> deletes;
  std::uint64_t more_opens = 0;  ///< Since the record before, as the next two.
  std::uint64_t more_renames = 0;
  std::uint64_t more_deletes = 0;
  std::optional<std::uint64_t> read_bytes;  ///< Absent, as written_bytes: its positions don't say.
  std::optional<std::uint64_t> written_bytes;
  std::uint64_t size_bytes = 0;
  std::uint64_t closed_ns = 0;             ///< The last close; without one: the last rename or delete.
  std::optional<std::uint64_t> opened_ns;  ///< The first open. Absent: one of them was not seen.
  std::optional<std::string> filesystem;   ///< Its kind, with the path.
  bool created = false;
  bool reads = false;
  bool writes = false;
  std::uint64_t begins = 0;    ///< Opens that began another content.
  bool wrote = false;          ///< An open for writing only had moved on; to append: past the end it found.
  bool reads_earlier = false;  ///< For certain it read what was there before the first of these.
  bool may_begin = false;      ///< One before the first of these may have.
  std::optional<std::uint64_t> modified_ns;  ///< By the boot clock. Absent: not opened for writing.

  /// All that is counted; it only grows.
  std::uint64_t uses() const noexcept { return opens + renames.value_or(0) + deletes.value_or(0); }
};

/// What a program has sent and received through sockets with one peer, in all.
struct ConnectionRecord {
  struct Peer {
    std::array<std::uint8_t, 16> address{};  ///< IPv4 addresses as IPv6 ones that stand for them; all 0: not known.
    std::uint16_t port = 0;                  ///< A server's own, else the peer's.
    std::uint8_t protocol = 0;               ///< TRACER_PROTOCOL_*.
    std::uint8_t role = 0;                   ///< TRACER_ROLE_*.
    bool same_host = false;
    bool folded = false;     ///< All peers beyond those that are told apart.
    std::uint32_t user = 0;  ///< As which it was exchanged with.
    auto operator<=>(const Peer&) const = default;
  };
  RecordIdentity identity;
  std::uint64_t program_start_ns = 0;
  std::uint32_t kernel_pid = 0;  ///< By which the source finds the sums again.
  Peer peer;
  std::uint32_t account = 0;                     ///< That the source charges it to.
  bool no_room = false;                          ///< As of FileUseRecord.
  std::array<std::uint8_t, 16> local_address{};  ///< All 0: not known.
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t sends = 0;
  std::uint64_t receives = 0;
  std::uint64_t connects = 0;
  std::uint64_t failed_connects = 0;
  std::uint64_t retransmits = 0;
  std::optional<std::uint64_t> round_trip_ns;
  std::optional<std::int32_t> error;
  std::uint64_t last_ns = 0;
  std::optional<std::uint64_t> wait_ns;  ///< Absent: threads have waited otherwise, too, or nobody knows.
};

/// What a process has done with some successive system calls.
struct SyscallUseRecord {
  static constexpr std::size_t kCalls = 8;
  struct Sums {
    std::uint64_t calls = 0;  ///< That returned.
    std::uint64_t failed = 0;
    std::uint64_t duration_ns = 0;
    std::optional<std::int32_t> error;  ///< Of the last that failed.
  };
  RecordIdentity identity;
  std::uint32_t first = 0;  ///< The number of the first of them.
  std::array<Sums, kCalls> calls{};
};

/// A cgroup was removed.
struct CgroupEndRecord {
  std::uint64_t cgroup_id = 0;
  Hierarchy hierarchy = Hierarchy::kV2;
  std::uint64_t time_ns = 0;
  std::optional<std::uint64_t> peak_bytes;
};

/// What a block device did in a span of time.
struct DeviceRecord {
  std::uint64_t time_ns = 0;
  std::uint64_t since_ns = 0;
  std::uint32_t device = 0;
  std::optional<std::string> name;
  std::uint64_t read_requests = 0;
  std::uint64_t write_requests = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
  std::optional<std::uint64_t> read_latency_ns;
  std::optional<std::uint64_t> write_latency_ns;
  std::optional<std::uint64_t> latency_p99_at_most_ns;
  std::optional<std::uint64_t> busy_ns;
  struct Use {
    std::uint32_t pid = 0;
    std::uint64_t start_ns = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<Use> uses;  ///< Of tracked processes, the most bytes first.
};

/// How long a process has waited for block devices, in all.
struct DiskWaitsRecord {
  struct Wait {
    std::uint32_t device = 0;
    std::optional<std::string> name;  ///< Absent: it is gone.
    std::uint64_t wait_ns = 0;
  };
  RecordIdentity identity;
  std::vector<Wait> waits;
};

/// What a process did with a GPU since it was read last.
struct GpuRecord {
  std::uint32_t pid = 0;
  std::uint64_t start_ns = 0;
  GpuSample sample;  ///< Complete but for the process.
};

/// What the host as a whole has used since it started, and what it is. Each is absent where the kernel does not say it.
struct HostRecord {
  std::uint64_t time_ns = 0;
  std::uint32_t cpus = 0;  ///< Online.
  std::optional<std::uint64_t> used_cpu_ns;
  std::optional<std::uint64_t> idle_cpu_ns;  ///< With waits for disks.
  std::optional<std::uint64_t> steal_cpu_ns;
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> available_memory_bytes;  ///< Now, as memory_bytes.
  std::optional<std::uint64_t> network_bytes;
  std::optional<std::uint64_t> storage_bytes;
  std::optional<std::string> provider;
  std::optional<std::string> instance_type;
  std::optional<std::string> instance_id;
};

/// What the kernel charges to a cgroup.
struct CgroupMemoryRecord {
  std::uint64_t cgroup_id = 0;
  Hierarchy hierarchy = Hierarchy::kV2;
  bool has_below = false;                  ///< There are cgroups below, whose memory is in its own.
  std::optional<std::uint64_t> processes;  ///< In it, tracked or not.
  std::optional<std::uint64_t> foreign;    ///< Of these, not tracked.
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> peak_bytes;
  std::optional<std::uint64_t> file_bytes;   ///< Without shared memory.
  std::optional<std::uint64_t> shmem_bytes;  ///< With files on tmpfs.
  std::optional<std::uint64_t> kernel_bytes;
  std::optional<std::uint64_t> memory_limit_bytes;
  std::optional<std::uint64_t> cpu_limit_millicpus;
  std::optional<std::uint64_t> throttled_ns;
};

struct TextRecord {
  std::uint32_t pid = 0;
  std::uint64_t start_ns = 0;
  ProgramText text;
  std::optional<std::string> cgroup;
  bool copy = false;  ///< It has executed nothing since its fork: the words are its parent's.
};

/// An event that a family has made of its own record, complete but for the process that it is about.
class UnjoinedEvent {
 public:
  virtual ~UnjoinedEvent() = default;
  virtual Event about(std::shared_ptr<const Process> process) const = 0;
};

template <class E>
class UnjoinedEventOf final : public UnjoinedEvent {
 public:
  explicit UnjoinedEventOf(E event) : event_(std::move(event)) {}
  Event about(std::shared_ptr<const Process> process) const override {
    E event = event_;
    event.process = std::move(process);
    return event;
  }

 private:
  E event_;
};

struct EventRecord {
  RecordIdentity identity;                     ///< Of the process.
  std::shared_ptr<const UnjoinedEvent> event;  ///< Never null.
  bool only_of_known = false;                  ///< Not from a ring: nothing comes of it unless the process is known.
};

using Record = std::variant<StartRecord, ExecRecord, ExitRecord, CgroupRecord, ThreadRecord, FileRecord, TextRecord,
                            CgroupMemoryRecord, EventRecord, FileUseRecord, ConnectionRecord, SyscallUseRecord,
                            CgroupEndRecord, DeviceRecord, DiskWaitsRecord, GpuRecord, HostRecord>;

}  // namespace tracer::internal
