// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tracer/error.hpp>
#include <tracer/export.hpp>

namespace tracer {

/// A session loads its BPF programs in families; if a kernel refuses one, the others still work.
enum class Family {
  kLifecycle,   ///< Starts, execs, exits and accounts. Always loaded.
  kWaits,       ///< Ledger.
  kSnapshots,   ///< ProcessSample at an interval.
  kMemory,      ///< OomKill, and ProcessExit::oom_killed.
  kFiles,       ///< FileUse.
  kNetwork,     ///< Connection, and bytes by process.
  kContainers,  ///< ContainerStart, ContainerFinish.
  kDisks,       ///< DeviceSample.
  kSyscalls,    ///< SyscallUse.
  kGpu,         ///< GpuSample, GpuUse.
};

/// When a family is loaded.
enum class FamilyUse : std::uint8_t {
  kAlways,
  kByDefault,  ///< Loaded unless SessionOptions::families leaves it out.
  kOnRequest,  ///< Loaded only if SessionOptions::families names it.
};

/// The description of a family, known before it is loaded.
struct FamilyInfo {
  Family family = Family::kLifecycle;
  std::string_view name;  ///< Its name on the command line, in Python and in SessionEnd::missing_families.
  FamilyUse use = FamilyUse::kOnRequest;
  std::string_view brings;   ///< The events and fields that only this family provides.
  std::string_view needs;    ///< Requirements on the kernel; check() looks for them.
  std::string_view losses;   ///< The causes of its losses, as in docs/losses.md; separated by spaces.
  std::string_view options;  ///< The members of SessionOptions that affect only it; separated by spaces.
};

/// All families, in the order of their numbers: the one table from which names, defaults and bits follow.
inline constexpr std::array kFamilies = {
    FamilyInfo{.family = Family::kLifecycle,
               .name = "lifecycle",
               .use = FamilyUse::kAlways,
               .brings = "starts, execs, exits and accounts of processes; runs and tasks",
               .needs = "tracepoints with type information, a ring buffer, an iterator over tasks (Linux 5.8)",
               .losses = "ring_full_process_start ring_full_process_exec ring_full_process_exit ring_full_cgroup "
                         "process_table_full thread_table_full cgroup_table_full ledger_table_full label_table_full",
               .options = "max_processes max_cgroups max_contexts max_labeled_threads"},
    FamilyInfo{.family = Family::kWaits,
               .name = "waits",
               .use = FamilyUse::kByDefault,
               .brings = "ledgers: where the time went",
               .needs = "CONFIG_FAIR_GROUP_SCHED",
               .losses = "",
               .options = "max_threads"},
    FamilyInfo{.family = Family::kSnapshots,
               .name = "snapshots",
               .use = FamilyUse::kByDefault,
               .brings = "process_sample, tool_sample, cgroup_sample and snapshot_end, at an interval",
               .needs = "an iterator over open files (Linux 5.8)",
               .losses = "",
               .options = "sample_interval"},
    FamilyInfo{.family = Family::kMemory,
               .name = "memory",
               .use = FamilyUse::kByDefault,
               .brings = "oom_kill, and oom_killed in process_exit",
               .needs = "the tracepoints mark_victim, with its task, and signal_generate",
               .losses = "ring_full_oom_kill",
               .options = ""},
    FamilyInfo{.family = Family::kFiles,
               .name = "files",
               .use = FamilyUse::kByDefault,
               .brings = "file_use: the files that each process used",
               .needs =
                   "tracing of functions (fentry; on arm64 from Linux 6.4), or Linux 6.7, then without renames and "
                   "deletes",
               .losses = "ring_full_file_use",
               .options = ""},
    FamilyInfo{.family = Family::kNetwork,
               .name = "network",
               .use = FamilyUse::kByDefault,
               .brings = "connection: the peers of each program; network_sent_bytes and network_received_bytes",
               .needs = "the tracepoints sock_send_length and sock_recv_length (Linux 6.3)",
               .losses = "ring_full_connection",
               .options = ""},
    FamilyInfo{.family = Family::kContainers,
               .name = "containers",
               .use = FamilyUse::kByDefault,
               .brings = "container_start and container_finish, with the peak of its memory",
               .needs = "the tracepoint cgroup_rmdir",
               .losses = "ring_full_cgroup_end",
               .options = ""},
    FamilyInfo{.family = Family::kDisks,
               .name = "disks",
               .use = FamilyUse::kByDefault,
               .brings = "device_sample: what block devices did, and who asked for most; with snapshots only",
               .needs = "the tracepoints block_rq_issue, block_rq_complete and block_bio_queue",
               .losses = "",
               .options = ""},
    FamilyInfo{.family = Family::kSyscalls,
               .name = "syscalls",
               .use = FamilyUse::kOnRequest,
               .brings = "syscall_use: the system calls of each process, with their time; slows each call of the host",
               .needs = "the tracepoints sys_enter and sys_exit",
               .losses = "ring_full_syscall_use syscall_table_full",
               .options = ""},
    FamilyInfo{.family = Family::kGpu,
               .name = "gpu",
               .use = FamilyUse::kOnRequest,
               .brings =
                   "gpu_sample: memory and busy time of GPUs by process; with snapshots only. gpu_use, experimental: "
                   "allocations and waits, by probes on the driver's library",
               .needs = "one of: NVIDIA's management library (NVML); a driver that reports its use in "
                        "/proc/PID/fdinfo; libcuda.so.1 or libamdhip64.so on the host, and Linux 5.15",
               .losses = "ring_full_gpu_use gpu_table_full gpu_use_refused gpu_use_not_read",
               .options = ""},
};
static_assert([] {
  for (std::size_t i = 0; i < kFamilies.size(); ++i)
    if (static_cast<std::size_t>(kFamilies[i].family) != i) return false;
  return true;
}());

constexpr const FamilyInfo& info_of(Family family) noexcept { return kFamilies[static_cast<std::size_t>(family)]; }

/// "lifecycle", "waits" …
constexpr std::string_view to_string(Family family) noexcept {
  return static_cast<std::size_t>(family) < kFamilies.size() ? info_of(family).name : std::string_view();
}
/// Absent for any other text.
TRACER_EXPORT std::optional<Family> family_from_name(std::string_view name) noexcept;
/// The families that a session has by default, without the lifecycle, which it always has.
TRACER_EXPORT std::vector<Family> default_families();
/// The names of all families that can be chosen, such as "waits, snapshots".
TRACER_EXPORT std::string names_of_families();

/// The state of a family.
struct FamilyState {
  Family family = Family::kLifecycle;
  bool active = false;
  std::string mechanism;           ///< The kernel hooks it uses.
  std::optional<Problem> problem;  ///< Why it is not active although requested, or which part is missing.
};

}  // namespace tracer
