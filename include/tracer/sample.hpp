// SPDX-License-Identifier: Apache-2.0
/// Events of a snapshot, about living processes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <tracer/event_kind.hpp>
#include <tracer/process.hpp>

namespace tracer {

/// A process's progress through the file that it is reading. Among files whose position moved lately, whose size does
/// not change, and which are not read to their end, it is the one with the most left to read.
struct Progress {
  std::string file;  ///< The file's name, without its folder; cut after 63 bytes.
  std::uint64_t position_bytes = 0;
  std::uint64_t size_bytes = 0;
  std::optional<std::uint64_t> bytes_per_s;   ///< Over about the last second. 0: it stands still.
  std::optional<std::uint64_t> time_left_ns;  ///< Time for the rest at that rate.
};

/// A living process and what it has consumed so far. The CPU time of a running thread may be a tick short.
struct ProcessSample {
  static constexpr EventKind kKind = EventKind::kProcessSample;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Process> process;  ///< Never null.
  std::optional<std::uint64_t> attached_ns;
  std::optional<std::uint64_t> threads;  ///< Alive now.
  std::optional<std::string>
      state;  ///< State of its first thread: "running" (or ready), "sleeping", "uninterruptible", "stopped".
  /// Resident now; see pss_bytes. 0 while it borrows its parent's memory (vfork).
  std::optional<std::uint64_t> rss_anonymous_bytes;
  std::optional<std::uint64_t> rss_file_bytes;
  std::optional<std::uint64_t> rss_shared_bytes;
  /// Its proportional share. Known only for copies that have executed nothing, with all processes of their executable,
  /// and for processes with shared memory, if these hold 4 MiB or more; and for processes with 64 MiB of mapped files.
  std::optional<std::uint64_t> pss_bytes;
  std::optional<Progress> progress;  ///< Absent: it is not known to be reading a large file now.
  Account account;
  std::optional<std::string> disk_wait_device = {};  ///< As in ProcessExit, up to now; so is the next.
  std::optional<std::uint64_t> disk_wait_device_ns = {};
};

/// Aggregate of one user's living processes of one tool with the same labels, when there are too many to list: what
/// they hold and have consumed so far. A figure is absent when it is unknown for one of them.
struct ToolSample {
  static constexpr EventKind kKind = EventKind::kToolSample;
  std::uint64_t time_ns = 0;
  std::optional<std::string> tool;
  std::optional<std::uint32_t> uid;                                ///< The same as Process::uid.
  std::shared_ptr<const Context> context = Process::no_context();  ///< Never null.
  std::uint64_t processes = 0;
  std::uint64_t running = 0;                         ///< Processes whose first thread runs or is ready to run.
  std::optional<std::uint64_t> threads;              ///< Alive now.
  std::optional<std::uint64_t> rss_anonymous_bytes;  ///< Sums; see held_bytes.
  std::optional<std::uint64_t> rss_file_bytes;
  std::optional<std::uint64_t> rss_shared_bytes;
  std::optional<std::uint64_t> held_bytes;  ///< Resident memory that they hold together, common pages counted once.
  Account account;
};

/// The memory of a cgroup that holds followed processes, as the kernel accounts it and as its processes explain it.
struct CgroupSample {
  static constexpr EventKind kKind = EventKind::kCgroupSample;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Cgroup> cgroup = Process::unknown_cgroup();  ///< Never null.
  bool has_below = false;                            ///< There are cgroups below it; their memory is in its own.
  std::optional<std::uint64_t> processes;            ///< In it, followed or not; without cgroups below it.
  std::optional<std::uint64_t> followed_processes;   ///< The followed ones of these.
  std::optional<std::uint64_t> memory_bytes;         ///< Charged to it now, cgroups below it included.
  std::optional<std::uint64_t> memory_peak_bytes;    ///< Since it was created. Absent for v2 before Linux 5.19.
  std::optional<std::uint64_t> file_bytes;           ///< Part of memory_bytes: page cache, which can be dropped.
  std::optional<std::uint64_t> shmem_bytes;          ///< Part of memory_bytes: shared memory and files on tmpfs.
  std::optional<std::uint64_t> kernel_bytes;         ///< Part of memory_bytes: the kernel's own, such as page tables.
  std::optional<std::uint64_t> held_bytes;           ///< Anonymous memory that the followed processes hold.
  std::optional<std::uint64_t> unexplained_bytes;    ///< memory_bytes minus the last four. Absent with has_below.
  std::optional<std::uint64_t> memory_limit_bytes;   ///< The smallest of its own limit and those above. Absent: none.
  std::optional<std::uint64_t> cpu_limit_millicpus;  ///< Likewise; 1000 are one CPU. Absent also for v1.
  std::optional<std::uint64_t> throttled_ns;  ///< How long its limit held back its CPUs since it was created, summed.
};

/// What a block device did since the last snapshot, for the whole host, and which followed process asked it for most.
struct DeviceSample {
  static constexpr EventKind kKind = EventKind::kDeviceSample;
  std::uint64_t time_ns = 0;
  std::uint64_t since_ns = 0;              ///< When these sums began.
  std::uint64_t device = 0;                ///< Its number, as in FileUse::device.
  std::optional<std::string> device_name;  ///< "vda". Absent: the device is gone.
  std::uint64_t read_requests = 0;         ///< Completed.
  std::uint64_t write_requests = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
  std::optional<std::uint64_t> read_latency_ns;  ///< The mean, from issue to completion. Absent: no such request.
  std::optional<std::uint64_t> write_latency_ns;
  /// 99 of 100 requests took no longer; an upper bound by at most a factor of 2.
  std::optional<std::uint64_t> latency_p99_at_most_ns;
  std::optional<std::uint64_t> busy_ns;  ///< With a request in flight. Absent: the kernel does not count it.
  /// The followed process that asked the device for the most bytes. Absent: none did, or it is not known which.
  std::optional<std::uint32_t> heaviest_pid;
  std::optional<std::string> heaviest_tool;
  std::optional<std::uint64_t> heaviest_bytes;
  std::shared_ptr<const Context> context = Process::no_context();  ///< Of that process; never null.
};

/// What a process held of a GPU, and how long it kept it busy, since the last sample.
struct GpuSample {
  static constexpr EventKind kKind = EventKind::kGpuSample;
  std::uint64_t time_ns = 0;
  std::shared_ptr<const Process> process;     ///< Never null: who uses the device.
  std::optional<std::uint64_t> since_ns;      ///< When busy_ns began. Absent: the first sample of it.
  std::string gpu;                            ///< "nvidia0", "card1": the device's own number on this machine.
  std::optional<std::string> gpu_name;        ///< "NVIDIA A100-SXM4-40GB", or the driver's name: "amdgpu".
  std::optional<std::string> gpu_uuid;        ///< Of NVIDIA's driver.
  std::optional<std::uint64_t> memory_bytes;  ///< The device's memory that the process holds.
  /// How long the process kept the device's busiest engine busy. Of NVIDIA: its share in the driver's own samples times
  /// the span. Absent: the driver does not report it by process.
  std::optional<std::uint64_t> busy_ns;
  std::optional<std::uint64_t> gpu_busy_ns;         ///< Likewise, of all processes.
  std::optional<std::uint64_t> gpu_memory_bytes;    ///< Held by all processes.
  std::optional<std::uint64_t> gpu_capacity_bytes;  ///< The device's memory.
};

/// What the host as a whole used since the last such event, and which part of it belonged to tasks. Made only by
/// sessions that follow the whole host, also when nothing runs.
struct HostSample {
  static constexpr EventKind kKind = EventKind::kHostSample;
  std::uint64_t time_ns = 0;
  std::uint64_t since_ns = 0;  ///< When the sums of times and bytes began.
  std::uint32_t cpus = 0;      ///< Online. Their times sum up to (time_ns - since_ns) * cpus, within a tick for each.
  std::optional<std::uint64_t> task_cpu_ns;             ///< By followed processes of runs and tasks.
  std::optional<std::uint64_t> system_cpu_ns;           ///< By all others and the kernel itself.
  std::optional<std::uint64_t> idle_cpu_ns;             ///< By nobody, waits for disks included.
  std::optional<std::uint64_t> steal_cpu_ns;            ///< Held back by the hypervisor: neither used nor idle.
  std::optional<std::uint64_t> memory_bytes;            ///< Of the host.
  std::optional<std::uint64_t> task_memory_bytes;       ///< Held by processes of runs and tasks now.
  std::optional<std::uint64_t> system_memory_bytes;     ///< Neither theirs nor available.
  std::optional<std::uint64_t> available_memory_bytes;  ///< What the kernel could give without swapping.
  std::uint64_t tasks = 0;                              ///< Runs and tasks in which a process lives now.
  std::optional<std::uint64_t> network_bytes;           ///< Received and sent through its interfaces, without loopback.
  std::optional<std::uint64_t> storage_bytes;           ///< Read from and written to its block devices.
  /// By the firmware's own description (DMI), without network: "aws", "gcp", "azure". Absent: it says nothing of that.
  std::optional<std::string> provider;
  std::optional<std::string> instance_type;  ///< Absent likewise.
  std::optional<std::string> instance_id;
};

/// A snapshot is complete: all of its ProcessSample, ToolSample and CgroupSample events came before, with its time.
struct SnapshotEnd {
  static constexpr EventKind kKind = EventKind::kSnapshotEnd;
  std::uint64_t time_ns = 0;
  std::uint64_t processes = 0;  ///< Followed processes that lived then.
};

}  // namespace tracer
