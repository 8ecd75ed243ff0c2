// SPDX-License-Identifier: Apache-2.0
/// The typed facts that a session delivers. docs/fields.md gives the kernel source and the error of each field.
///
/// Times are nanoseconds of the boot clock (CLOCK_BOOTTIME), sizes are bytes, and an unknown value is absent
/// (std::nullopt), never 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tracer/event_kind.hpp>
#include <tracer/export.hpp>
#include <tracer/finding.hpp>
#include <tracer/process.hpp>
#include <tracer/sample.hpp>
#include <tracer/task.hpp>

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
  /// How many CPUs its affinity and its cgroup's set of CPUs let it run on, when the program began. Absent: the source
  /// does not report it.
  std::optional<std::uint32_t> cpus_allowed = {};
};

/// A process ended: its last thread is dead and its accounts are final.
struct ProcessExit {
  static constexpr EventKind kKind = EventKind::kProcessExit;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Process> process;  ///< Never null.
  std::optional<std::uint64_t> attached_ns;
  std::uint64_t start_ns = 0;  ///< The same as process->start_ns.
  std::uint64_t begin_ns = 0;  ///< start_ns, or the exec of a command that was held until then: nothing before counts.
  std::uint64_t end_ns = 0;
  std::optional<std::int32_t> exit_code;    ///< 0 to 255; absent when a signal ended it.
  std::optional<std::int32_t> exit_signal;  ///< Absent when it exited by itself.
  /// The sender of exit_signal: "kernel" or "process". Absent: no signal ended it, or the sender was not seen.
  std::optional<std::string> exit_signal_sender;
  std::optional<std::uint32_t> exit_signal_sender_pid;  ///< For "process"; absent: this session does not see it.
  /// When it last wrote to a pipe or socket that nobody reads. Absent: never, or the kernel does not report it.
  std::optional<std::uint64_t> broken_pipe_ns;
  std::optional<bool> oom_killed;  ///< The kernel killed it as memory had run out. Absent: "memory" is off.
  bool core_dumped = false;
  std::optional<std::uint64_t> threads;  ///< Ever created, the first included.
  Account account;                       ///< For the whole process; its peak is the last program's.
  ProgramAccount program;                ///< The last program's share.
  /// The block device for which its threads waited longest, such as "vda". Absent: none is known.
  std::optional<std::string> disk_wait_device = {};
  std::optional<std::uint64_t> disk_wait_device_ns =
      {};                         ///< How long they did, at least: part of the ledger's disk_ns.
  bool status_is_answer = false;  ///< exit_code is the tool's answer (grep: 1, nothing found), by rules/tools.toml.

  /// The name of the last program: its tool, else the kernel's short name; "?" if neither is known.
  std::string tool() const { return process->program->tool.value_or(process->program->comm.value_or("?")); }
  /// True if it ended by a signal, or with a status other than 0 that is not an answer. Summary and TaskFinish decide
  /// by the parent's next action whether that is a failure of its own.
  bool failed() const noexcept { return exit_signal.has_value() || (exit_code.value_or(0) != 0 && !status_is_answer); }
};

/// An account of what the session's own process consumed, in a task or outside of all. That process is part of the
/// workload and lives on, so no ProcessExit counts it. Each event is a separate part; add up the parts of a session.
struct OwnWork {
  static constexpr EventKind kKind = EventKind::kOwnWork;
  std::uint64_t time_ns = 0;               ///< When the part ended.
  std::shared_ptr<const Process> process;  ///< Never null; with the context of the task.
  std::uint64_t begin_ns = 0;
  /// CPU time, or a lower bound; the peak if it grew in this part, else a lower bound; bytes read and written. The rest
  /// is absent.
  Account account;
};

/// A regular file that a process used: all its uses up to the process's end, or the session's. A use counts at the last
/// close of what an open made, for the process that closed it. Renames and deletes are uses, too. Each file of a
/// process has one event; beyond 8,192 files, the rest is folded.
struct FileUse {
  static constexpr EventKind kKind = EventKind::kFileUse;
  std::uint64_t time_ns = 0;               ///< When the process ended; what lives on: the session.
  std::shared_ptr<const Process> process;  ///< Never null: who closed, renamed or deleted it.
  /// Absolute, from the top of the mounts that the process sees, whatever its root folder. Absent: see `folded`.
  std::optional<std::string> path;
  /// "close": it had this path at the first of these closes. Of a file that this process did not close before: "rename"
  /// or "delete", just before that. Absent without a path.
  std::optional<std::string> path_at;
  bool path_cut = false;  ///< The path's beginning is missing.
  /// Several files in one event: "unlinked" (removed before their last close) or "others" (beyond 8,192 of a process).
  std::optional<std::string> folded;
  std::optional<std::uint64_t> device;  ///< The file system's number, as st_dev in the kernel. Absent with `folded`.
  std::optional<std::uint64_t> inode;   ///< Absent with `folded`.
  std::uint64_t opens = 0;              ///< Opens that this process closed.
  bool opened_to_read = false;
  bool opened_to_write = false;
  bool created = false;  ///< One of these opens made the file.
  /// Read through these opens, by all who shared them: by the position at each close. Absent: not known, as it was
  /// opened to read and write, mapped, or read at given positions.
  std::optional<std::uint64_t> read_bytes;
  std::optional<std::uint64_t> written_bytes;  ///< Likewise, and absent if it was opened to append.
  std::optional<std::uint64_t> size_bytes;     ///< At the last close. Absent with `folded`.
  /// The earliest of these opens, by whoever opened it. Absent: this kernel's hooks see closes only, or it was opened
  /// before it could be seen.
  std::optional<std::uint64_t> first_open_ns;
  std::uint64_t last_close_ns = 0;             ///< With 0 opens: when it was renamed or deleted last.
  std::optional<std::string> filesystem = {};  ///< Its kind: "ext4", "nfs4", "fuse.sshfs" … Absent with `folded`.
  /// As `path`, after the last rename by this process; begins with "…" where it is cut. Absent: it did not rename it.
  std::optional<std::string> renamed_to = {};
  std::optional<std::uint64_t> renames = {};  ///< By this process. Absent: this kernel's hooks don't show them.
  /// How often this process took the last name from the file, be it by a rename of another to that name. Absent:
  /// likewise.
  std::optional<std::uint64_t> deletes = {};
  /// The user id that this process acted as: its effective one, so root's in a setuid program. Uses as different users
  /// are events of their own. Absent: not known.
  std::optional<std::uint32_t> euid = {};
  /// Together with `device` and `inode` it tells files apart whose numbers are given again: the generation of the
  /// inode, which the file system chooses; of an overlay also another for each mount. Absent with `folded`.
  std::optional<std::uint32_t> generation = {};
  /// Opens that began another content of the file: they made it or emptied it, or wrote all that it had at their close.
  /// Where opens are not seen, that an open emptied it shows only by the latter.
  std::optional<std::uint64_t> contents_begun = {};
  /// It read what was in the file before it began a content itself. Absent: it did not open it to read.
  std::optional<bool> read_earlier_content = {};
  /// The file was modified, by whoever, between the first of these opens, or where that is not known the begin of the
  /// process, and the last close. Absent: it was not opened to write, or that is not known.
  std::optional<bool> modified_meanwhile = {};
};

/// Memory had run out, in a cgroup with a limit or on the host, and the kernel chose this process to be killed.
struct OomKill {
  static constexpr EventKind kKind = EventKind::kOomKill;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Process> process;    ///< Never null: the victim.
  std::optional<std::string> scope;          ///< "cgroup" or "host".
  std::optional<std::string> limit_cgroup;   ///< Path of the cgroup whose limit was hit. Absent: of "host".
  std::optional<std::uint64_t> limit_bytes;  ///< This limit, and below what was charged to that cgroup.
  std::optional<std::uint64_t> usage_bytes;
  std::optional<std::uint64_t> peak_bytes;
  std::optional<std::uint32_t> allocator_pid;  ///< Who asked for more. Absent: the kernel, or it is not shown.
};

/// What a program sent and received through its sockets with one peer: to the program's end, or the session's. Server
/// sockets are told apart by their own port and the peer's address, others by the peer's address and port.
struct Connection {
  static constexpr EventKind kKind = EventKind::kConnection;
  std::uint64_t time_ns = 0;                  ///< When the program ended; what lives on: the session.
  std::shared_ptr<const Process> process;     ///< Never null: who sent and received.
  std::optional<std::string> protocol;        ///< "tcp", "udp" or "unix". Absent: another, or several (`folded`).
  std::optional<std::string> role;            ///< "client" or "server". Absent: not of TCP.
  bool same_host = false;                     ///< The other end is on this machine.
  std::optional<std::string> remote_address;  ///< Absent: of "unix", of UDP without a fixed peer, with `folded`.
  std::optional<std::uint32_t> remote_port;   ///< Absent likewise, and for servers: peers choose any.
  std::optional<std::string> local_address;   ///< Of the first of these sockets.
  std::optional<std::uint32_t> local_port;    ///< Of servers.
  std::optional<std::string> folded;          ///< "others": peers beyond 1,024 of a program.
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t sends = 0;  ///< Calls that sent or received something.
  std::uint64_t receives = 0;
  std::optional<std::uint64_t> connects;              ///< Attempts to connect. Of TCP clients.
  std::optional<std::uint64_t> failed_connects;       ///< The part of them that failed.
  std::optional<std::int32_t> error;                  ///< The errno of the last that failed.
  std::optional<std::uint64_t> retransmits_at_least;  ///< Segments sent again. Of TCP.
  std::optional<std::uint64_t> round_trip_ns;         ///< As the kernel smooths it, lately. Of TCP.
  std::uint64_t last_ns = 0;                          ///< The last send or receive.
  /// How long threads waited in calls on these sockets, summed over threads. Absent: "waits" is off, or they waited
  /// otherwise, in poll or epoll, which says nothing of one peer.
  std::optional<std::uint64_t> wait_ns = {};
  std::optional<std::uint32_t> euid = {};  ///< As FileUse::euid.
};

/// The first followed process was seen in a container.
struct ContainerStart {
  static constexpr EventKind kKind = EventKind::kContainerStart;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Process> process;  ///< Never null: this process; with the container's id and cgroup.
  std::optional<std::string> runtime;      ///< "docker", "podman" … by its cgroup's path and rules/containers.toml.
  std::optional<std::string> name = {};    ///< That the runtime's files give it. Absent: they don't, or not at once.
  std::optional<std::string> image = {};   ///< Likewise.
};

/// A container in which processes were followed is gone: its cgroup was removed.
struct ContainerFinish {
  static constexpr EventKind kKind = EventKind::kContainerFinish;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Process> process;   ///< Never null: that of ContainerStart.
  std::optional<std::string> runtime;       ///< As in ContainerStart.
  std::uint64_t begin_ns = 0;               ///< The time of its ContainerStart.
  std::optional<std::uint64_t> end_ns;      ///< When its last followed process ended. Absent: not seen.
  std::uint64_t processes = 0;              ///< Followed ones that ended in it.
  std::optional<std::uint64_t> oom_kills;   ///< Those of them with oom_killed. Absent: of one that is not known.
  std::optional<std::uint64_t> peak_bytes;  ///< The most memory charged to its cgroup, by the kernel's mark.
  std::optional<std::string> name = {};     ///< As in ContainerStart, or known since.
  std::optional<std::string> image = {};
};

/// The calls of one system call by one process: to its end, or the session's.
struct SyscallUse {
  static constexpr EventKind kKind = EventKind::kSyscallUse;
  std::uint64_t time_ns = 0;               ///< When the process ended; what lives on: the session.
  std::shared_ptr<const Process> process;  ///< Never null: who called.
  std::uint32_t number = 0;                ///< Of the call, on this machine's architecture.
  std::optional<std::string> name;         ///< "openat". Absent: a number that this version does not know.
  std::uint64_t calls = 0;                 ///< Calls that returned.
  std::uint64_t failed = 0;                ///< The part of them that returned an error.
  std::uint64_t duration_ns = 0;           ///< From entry to return, waits included; summed over threads.
  std::optional<std::int32_t> error;       ///< The errno of the last that failed.
};

/// What a process asked of a GPU's driver through one of its libraries, since it was followed: with snapshots where
/// that has grown, and last when it ended; what lives on: the session.
struct GpuUse {
  static constexpr EventKind kKind = EventKind::kGpuUse;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Process> process;  ///< Never null: who called.
  std::string interface;                   ///< "cuda" or "hip".
  std::string library;                     ///< Path of the library when it was found.
  std::uint64_t allocations = 0;           ///< Calls that got memory of the device, or that both can use.
  std::uint64_t allocated_bytes = 0;       ///< What these asked for; what was freed meanwhile is in it.
  std::uint64_t failed_allocations = 0;    ///< Calls that got none.
  std::uint64_t frees = 0;                 ///< Calls that gave some back.
  std::uint64_t waits = 0;                 ///< Calls that return when the device is done; with those under way.
  std::uint64_t wait_ns = 0;               ///< From call to return, summed over threads.
  std::uint64_t context_switches = 0;      ///< Calls that changed the thread's context or device.
};

/// How many events of one kind.
struct KindCount {
  EventKind kind = EventKind::kNone;
  std::uint64_t count = 0;
};

/// Something was lost since the last event of the same cause. Kernel totals per context are not affected.
struct Loss {
  static constexpr EventKind kKind = EventKind::kLoss;
  std::uint64_t time_ns = 0;
  std::string cause;        ///< A key of Statistics::losses; "queue_full" in the queue that was full.
  std::uint64_t count = 0;  ///< New losses since the last report.
  std::optional<std::uint64_t> first_ns = {};  ///< "queue_full": time of the first event that was dropped here …
  std::optional<std::uint64_t> last_ns = {};   ///< … and of the last.
  std::vector<KindCount> by_kind = {};         ///< "queue_full": what was dropped. Empty for other causes.
  std::optional<std::uint32_t> uid = {};       ///< Whose events these were. Absent: they are not told apart.
};

/// The last event of a session; a recording without it was cut short.
struct SessionEnd {
  static constexpr EventKind kKind = EventKind::kSessionEnd;
  std::uint64_t time_ns = 0;
  std::uint64_t processes_started = 0;  ///< Ended ones, and those still held; without pruned ones.
  std::uint64_t processes_ended = 0;
  std::uint64_t exits_delivered = 0;  ///< ProcessExit events of the session.
  std::uint64_t losses = 0;           ///< Sum of all causes.
  /// The cost of the session itself, as in Statistics::cost.
  std::optional<std::uint64_t> cost_cpu_ns;
  std::optional<std::uint64_t> cost_kernel_ns;
  std::optional<std::uint64_t> cost_memory_bytes;
  std::optional<std::uint64_t> cost_kernel_memory_bytes;
  std::optional<std::vector<std::string>> missing_families;  ///< Requested, but refused by the kernel, or disabled.
  /// Tier::kProc: at most so many processes lived too shortly to be seen. Absent: processes are not looked for, but
  /// reported by the kernel.
  std::optional<std::uint64_t> missed_at_most;
};

namespace internal {

template <class... E>
struct TypeList {};
/// The types of all events, the frequent ones first.
using EventTypes = TypeList<ProcessExit, ProcessExec, ProcessStart, ProcessSample, ToolSample, CgroupSample,
                            SnapshotEnd, Loss, SessionEnd, TaskStart, TaskFinish, RunStart, RunFinish, ContextChange,
                            OwnWork, OomKill, FileUse, Connection, DeviceSample, ContainerStart, ContainerFinish,
                            Finding, SyscallUse, GpuSample, GpuUse, HostSample, TaskSubmit>;

template <class E, class List>
inline constexpr bool kIsIn = false;
template <class E, class... Types>
inline constexpr bool kIsIn<E, TypeList<Types...>> = (std::is_same_v<E, Types> || ...);

struct EventBody {
  EventKind kind;
  std::uint32_t heap_bytes;  ///< Texts and shared parts, each in full.
  std::uint64_t time_ns;
};
template <class E>
struct EventBox final : EventBody {
  template <class From>
  explicit EventBox(From&& from) : EventBody{E::kKind, 0, 0}, event(std::forward<From>(from)) {}
  E event;
};
/// Fills in what follows from the event in the box.
TRACER_EXPORT void seal(EventBody& body) noexcept;

}  // namespace internal

template <class E>
concept EventType = internal::kIsIn<E, internal::EventTypes>;

/// A typed fact with a time: a handle to one immutable body. Copying it copies a pointer; threads may share it.
class TRACER_EXPORT Event {
 public:
  /// Empty: kind() is kNone.
  Event() noexcept = default;
  /// From ProcessExit, Loss … The body is made here and never changes.
  template <class E>
  requires EventType<std::remove_cvref_t<E>> Event(E&& event) {  // NOLINT(google-explicit-constructor)
    auto body = std::make_shared<internal::EventBox<std::remove_cvref_t<E>>>(std::forward<E>(event));
    internal::seal(*body);
    body_ = std::move(body);
  }

  EventKind kind() const noexcept { return body_ ? body_->kind : EventKind::kNone; }
  std::uint64_t time_ns() const noexcept { return body_ ? body_->time_ns : 0; }
  /// The body; null if the event is of another kind. Valid as long as this handle or a copy of it.
  template <EventType E>
  const E* get_if() const noexcept {
    return kind() == E::kKind ? &static_cast<const internal::EventBox<E>&>(*body_).event : nullptr;
  }
  /// Bytes of its body, its texts and its shared parts, each in full: what a queue charges for it.
  std::size_t charge_bytes() const noexcept;

 private:
  std::shared_ptr<const internal::EventBody> body_;
};

namespace internal {

template <class Visitor, class... E>
void visit_as(Visitor& visitor, const Event& event, TypeList<E...>) {
  const auto visits = [&](const auto* body) {
    if (body != nullptr) visitor(*body);
    return body != nullptr;
  };
  static_cast<void>((visits(event.get_if<E>()) || ...));
}

}  // namespace internal

/// Calls `visitor` with the body of `event`, as its own type; not at all for an empty handle.
template <class Visitor>
void visit(Visitor&& visitor, const Event& event) {
  internal::visit_as(visitor, event, internal::EventTypes());
}

/// One JSON object, `kind` first, without a line end. Bytes that are not UTF-8 become U+FFFD.
TRACER_EXPORT std::string to_json(const Event& event);

}  // namespace tracer
