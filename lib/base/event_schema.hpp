// SPDX-License-Identifier: Apache-2.0
/// The one list of all events and their fields. Numbers and names are never changed or used again: recordings are read
/// by them. tests/data/schema.golden holds what was published and may only grow; docs/fields.md is checked against it.
#pragma once

#include <tracer/event.hpp>

#include "base/process_schema.hpp"
#include "base/task_schema.hpp"

namespace tracer::internal {

template <>
struct Schema<ProcessStart> {
  static constexpr std::string_view kName = "process_start";
  static constexpr auto fields = std::tuple(field(1, "time_ns", &ProcessStart::time_ns, Unit::kNs),
                                            group(2, "process", &ProcessStart::process, Shape::kFlat),
                                            field(3, "attached_ns", &ProcessStart::attached_ns, Unit::kNs));
};

template <>
struct Schema<ProcessExec> {
  static constexpr std::string_view kName = "process_exec";
  static constexpr auto fields = std::tuple(field(1, "time_ns", &ProcessExec::time_ns, Unit::kNs),
                                            group(2, "process", &ProcessExec::process, Shape::kFlat),
                                            field(3, "attached_ns", &ProcessExec::attached_ns, Unit::kNs),
                                            group(4, "ended", &ProcessExec::ended, Shape::kNested),
                                            field(5, "cpus_allowed", &ProcessExec::cpus_allowed, Unit::kCount));
};

/// Its start_ns is that of its process.
template <>
struct Schema<ProcessExit> {
  static constexpr std::string_view kName = "process_exit";
  static constexpr auto fields = std::tuple(
      field(1, "time_ns", &ProcessExit::time_ns, Unit::kNs), group(2, "process", &ProcessExit::process, Shape::kFlat),
      field(3, "end_ns", &ProcessExit::end_ns, Unit::kNs),
      field(4, "attached_ns", &ProcessExit::attached_ns, Unit::kNs), field(5, "exit_code", &ProcessExit::exit_code),
      field(6, "exit_signal", &ProcessExit::exit_signal), field(7, "core_dumped", &ProcessExit::core_dumped),
      field(8, "threads", &ProcessExit::threads, Unit::kCount),
      group(9, "account", &ProcessExit::account, Shape::kFlat),
      group(10, "program", &ProcessExit::program, Shape::kNested),
      field(11, "status_is_answer", &ProcessExit::status_is_answer),
      field(12, "exit_signal_sender", &ProcessExit::exit_signal_sender),
      field(13, "exit_signal_sender_pid", &ProcessExit::exit_signal_sender_pid),
      field(14, "broken_pipe_ns", &ProcessExit::broken_pipe_ns, Unit::kNs),
      field(15, "begin_ns", &ProcessExit::begin_ns, Unit::kNs), field(16, "oom_killed", &ProcessExit::oom_killed),
      field(17, "disk_wait_device", &ProcessExit::disk_wait_device),
      field(18, "disk_wait_device_ns", &ProcessExit::disk_wait_device_ns, Unit::kNs));
};

template <>
struct Schema<Progress> {
  static constexpr auto fields =
      std::tuple(field(1, "file", &Progress::file), field(2, "position_bytes", &Progress::position_bytes, Unit::kBytes),
                 field(3, "size_bytes", &Progress::size_bytes, Unit::kBytes),
                 field(4, "bytes_per_s", &Progress::bytes_per_s, Unit::kBytesPerS),
                 field(5, "time_left_ns", &Progress::time_left_ns, Unit::kNs));
};

template <>
struct Schema<ProcessSample> {
  static constexpr std::string_view kName = "process_sample";
  static constexpr auto fields =
      std::tuple(field(1, "time_ns", &ProcessSample::time_ns, Unit::kNs),
                 group(2, "process", &ProcessSample::process, Shape::kFlat),
                 field(3, "attached_ns", &ProcessSample::attached_ns, Unit::kNs),
                 field(4, "threads", &ProcessSample::threads, Unit::kCount), field(5, "state", &ProcessSample::state),
                 field(6, "rss_anonymous_bytes", &ProcessSample::rss_anonymous_bytes, Unit::kBytes),
                 field(7, "rss_file_bytes", &ProcessSample::rss_file_bytes, Unit::kBytes),
                 field(8, "rss_shared_bytes", &ProcessSample::rss_shared_bytes, Unit::kBytes),
                 field(9, "pss_bytes", &ProcessSample::pss_bytes, Unit::kBytes),
                 group(10, "progress", &ProcessSample::progress, Shape::kNested),
                 group(11, "account", &ProcessSample::account, Shape::kFlat),
                 field(12, "disk_wait_device", &ProcessSample::disk_wait_device),
                 field(13, "disk_wait_device_ns", &ProcessSample::disk_wait_device_ns, Unit::kNs));
};

template <>
struct Schema<ToolSample> {
  static constexpr std::string_view kName = "tool_sample";
  static constexpr auto fields = std::tuple(
      field(1, "time_ns", &ToolSample::time_ns, Unit::kNs), field(2, "tool", &ToolSample::tool),
      group(3, "context", &ToolSample::context, Shape::kNested),
      field(4, "processes", &ToolSample::processes, Unit::kCount),
      field(5, "running", &ToolSample::running, Unit::kCount), field(6, "threads", &ToolSample::threads, Unit::kCount),
      field(7, "rss_anonymous_bytes", &ToolSample::rss_anonymous_bytes, Unit::kBytes),
      field(8, "rss_file_bytes", &ToolSample::rss_file_bytes, Unit::kBytes),
      field(9, "rss_shared_bytes", &ToolSample::rss_shared_bytes, Unit::kBytes),
      field(10, "held_bytes", &ToolSample::held_bytes, Unit::kBytes),
      group(11, "account", &ToolSample::account, Shape::kFlat), field(12, "uid", &ToolSample::uid));
};

template <>
struct Schema<CgroupSample> {
  static constexpr std::string_view kName = "cgroup_sample";
  static constexpr auto fields = std::tuple(
      field(1, "time_ns", &CgroupSample::time_ns, Unit::kNs), group(2, "cgroup", &CgroupSample::cgroup, Shape::kFlat),
      field(3, "has_below", &CgroupSample::has_below), field(4, "processes", &CgroupSample::processes, Unit::kCount),
      field(5, "followed_processes", &CgroupSample::followed_processes, Unit::kCount),
      field(6, "memory_bytes", &CgroupSample::memory_bytes, Unit::kBytes),
      field(7, "memory_peak_bytes", &CgroupSample::memory_peak_bytes, Unit::kBytes),
      field(8, "file_bytes", &CgroupSample::file_bytes, Unit::kBytes),
      field(9, "kernel_bytes", &CgroupSample::kernel_bytes, Unit::kBytes),
      field(10, "held_bytes", &CgroupSample::held_bytes, Unit::kBytes),
      field(11, "unexplained_bytes", &CgroupSample::unexplained_bytes, Unit::kBytes),
      field(12, "throttled_ns", &CgroupSample::throttled_ns, Unit::kNs),
      field(13, "shmem_bytes", &CgroupSample::shmem_bytes, Unit::kBytes),
      field(14, "memory_limit_bytes", &CgroupSample::memory_limit_bytes, Unit::kBytes),
      field(15, "cpu_limit_millicpus", &CgroupSample::cpu_limit_millicpus, Unit::kCount));
};

template <>
struct Schema<SnapshotEnd> {
  static constexpr std::string_view kName = "snapshot_end";
  static constexpr auto fields = std::tuple(field(1, "time_ns", &SnapshotEnd::time_ns, Unit::kNs),
                                            field(2, "processes", &SnapshotEnd::processes, Unit::kCount));
};

template <>
struct Schema<KindCount> {
  static constexpr auto fields =
      std::tuple(field(1, "kind", &KindCount::kind), field(2, "count", &KindCount::count, Unit::kCount));
};

template <>
struct Schema<Loss> {
  static constexpr std::string_view kName = "loss";
  static constexpr auto fields =
      std::tuple(field(1, "time_ns", &Loss::time_ns, Unit::kNs), field(2, "cause", &Loss::cause),
                 field(3, "count", &Loss::count, Unit::kCount), field(4, "first_ns", &Loss::first_ns, Unit::kNs),
                 field(5, "last_ns", &Loss::last_ns, Unit::kNs), group(6, "by_kind", &Loss::by_kind, Shape::kNested),
                 field(7, "uid", &Loss::uid));
};

template <>
struct Schema<OwnWork> {
  static constexpr std::string_view kName = "own_work";
  static constexpr auto fields = std::tuple(
      field(1, "time_ns", &OwnWork::time_ns, Unit::kNs), group(2, "process", &OwnWork::process, Shape::kFlat),
      field(3, "begin_ns", &OwnWork::begin_ns, Unit::kNs), group(4, "account", &OwnWork::account, Shape::kFlat));
};

template <>
struct Schema<OomKill> {
  static constexpr std::string_view kName = "oom_kill";
  static constexpr auto fields = std::tuple(
      field(1, "time_ns", &OomKill::time_ns, Unit::kNs), group(2, "process", &OomKill::process, Shape::kFlat),
      field(3, "scope", &OomKill::scope), field(4, "limit_cgroup", &OomKill::limit_cgroup),
      field(5, "limit_bytes", &OomKill::limit_bytes, Unit::kBytes),
      field(6, "usage_bytes", &OomKill::usage_bytes, Unit::kBytes),
      field(7, "peak_bytes", &OomKill::peak_bytes, Unit::kBytes), field(8, "allocator_pid", &OomKill::allocator_pid));
};

template <>
struct Schema<FileUse> {
  static constexpr std::string_view kName = "file_use";
  static constexpr auto fields = std::tuple(
      field(1, "time_ns", &FileUse::time_ns, Unit::kNs), group(2, "process", &FileUse::process, Shape::kFlat),
      field(3, "path", &FileUse::path), field(4, "path_at", &FileUse::path_at),
      field(5, "path_cut", &FileUse::path_cut), field(6, "folded", &FileUse::folded),
      field(7, "device", &FileUse::device), field(8, "inode", &FileUse::inode),
      field(9, "opens", &FileUse::opens, Unit::kCount), field(10, "opened_to_read", &FileUse::opened_to_read),
      field(11, "opened_to_write", &FileUse::opened_to_write), field(12, "created", &FileUse::created),
      field(13, "read_bytes", &FileUse::read_bytes, Unit::kBytes),
      field(14, "written_bytes", &FileUse::written_bytes, Unit::kBytes),
      field(15, "size_bytes", &FileUse::size_bytes, Unit::kBytes),
      field(16, "first_open_ns", &FileUse::first_open_ns, Unit::kNs),
      field(17, "last_close_ns", &FileUse::last_close_ns, Unit::kNs), field(18, "filesystem", &FileUse::filesystem),
      field(19, "renamed_to", &FileUse::renamed_to), field(20, "renames", &FileUse::renames, Unit::kCount),
      field(21, "deletes", &FileUse::deletes, Unit::kCount), field(22, "euid", &FileUse::euid),
      field(23, "generation", &FileUse::generation),
      field(24, "contents_begun", &FileUse::contents_begun, Unit::kCount),
      field(25, "read_earlier_content", &FileUse::read_earlier_content),
      field(26, "modified_meanwhile", &FileUse::modified_meanwhile));
};

template <>
struct Schema<Connection> {
  static constexpr std::string_view kName = "connection";
  static constexpr auto fields = std::tuple(
      field(1, "time_ns", &Connection::time_ns, Unit::kNs), group(2, "process", &Connection::process, Shape::kFlat),
      field(3, "protocol", &Connection::protocol), field(4, "role", &Connection::role),
      field(5, "same_host", &Connection::same_host), field(6, "remote_address", &Connection::remote_address),
      field(7, "remote_port", &Connection::remote_port), field(8, "local_address", &Connection::local_address),
      field(9, "local_port", &Connection::local_port), field(10, "folded", &Connection::folded),
      field(11, "sent_bytes", &Connection::sent_bytes, Unit::kBytes),
      field(12, "received_bytes", &Connection::received_bytes, Unit::kBytes),
      field(13, "sends", &Connection::sends, Unit::kCount), field(14, "receives", &Connection::receives, Unit::kCount),
      field(15, "connects", &Connection::connects, Unit::kCount),
      field(16, "failed_connects", &Connection::failed_connects, Unit::kCount), field(17, "error", &Connection::error),
      field(18, "retransmits_at_least", &Connection::retransmits_at_least, Unit::kCount),
      field(19, "round_trip_ns", &Connection::round_trip_ns, Unit::kNs),
      field(20, "last_ns", &Connection::last_ns, Unit::kNs), field(21, "wait_ns", &Connection::wait_ns, Unit::kNs),
      field(22, "euid", &Connection::euid));
};

template <>
struct Schema<DeviceSample> {
  static constexpr std::string_view kName = "device_sample";
  static constexpr auto fields = std::tuple(
      field(1, "time_ns", &DeviceSample::time_ns, Unit::kNs), field(2, "since_ns", &DeviceSample::since_ns, Unit::kNs),
      field(3, "device", &DeviceSample::device), field(4, "device_name", &DeviceSample::device_name),
      field(5, "read_requests", &DeviceSample::read_requests, Unit::kCount),
      field(6, "write_requests", &DeviceSample::write_requests, Unit::kCount),
      field(7, "read_bytes", &DeviceSample::read_bytes, Unit::kBytes),
      field(8, "written_bytes", &DeviceSample::written_bytes, Unit::kBytes),
      field(9, "read_latency_ns", &DeviceSample::read_latency_ns, Unit::kNs),
      field(10, "write_latency_ns", &DeviceSample::write_latency_ns, Unit::kNs),
      field(11, "latency_p99_at_most_ns", &DeviceSample::latency_p99_at_most_ns, Unit::kNs),
      field(12, "busy_ns", &DeviceSample::busy_ns, Unit::kNs), field(13, "heaviest_pid", &DeviceSample::heaviest_pid),
      field(14, "heaviest_tool", &DeviceSample::heaviest_tool),
      field(15, "heaviest_bytes", &DeviceSample::heaviest_bytes, Unit::kBytes),
      group(16, "context", &DeviceSample::context, Shape::kNested));
};

template <>
struct Schema<ContainerStart> {
  static constexpr std::string_view kName = "container_start";
  static constexpr auto fields = std::tuple(
      field(1, "time_ns", &ContainerStart::time_ns, Unit::kNs),
      group(2, "process", &ContainerStart::process, Shape::kFlat), field(3, "runtime", &ContainerStart::runtime),
      field(4, "name", &ContainerStart::name), field(5, "image", &ContainerStart::image));
};

template <>
struct Schema<ContainerFinish> {
  static constexpr std::string_view kName = "container_finish";
  static constexpr auto fields = std::tuple(
      field(1, "time_ns", &ContainerFinish::time_ns, Unit::kNs),
      group(2, "process", &ContainerFinish::process, Shape::kFlat), field(3, "runtime", &ContainerFinish::runtime),
      field(4, "begin_ns", &ContainerFinish::begin_ns, Unit::kNs),
      field(5, "end_ns", &ContainerFinish::end_ns, Unit::kNs),
      field(6, "processes", &ContainerFinish::processes, Unit::kCount),
      field(7, "oom_kills", &ContainerFinish::oom_kills, Unit::kCount),
      field(8, "peak_bytes", &ContainerFinish::peak_bytes, Unit::kBytes), field(9, "name", &ContainerFinish::name),
      field(10, "image", &ContainerFinish::image));
};

template <>
struct Schema<Evidence> {
  static constexpr auto fields = std::tuple(field(1, "name", &Evidence::name), field(2, "value", &Evidence::value),
                                            field(3, "unit", &Evidence::unit), field(4, "text", &Evidence::text));
};

template <>
struct Schema<Finding> {
  static constexpr std::string_view kName = "finding";
  static constexpr auto fields =
      std::tuple(field(1, "time_ns", &Finding::time_ns, Unit::kNs), field(2, "finding_key", &Finding::finding_key),
                 field(3, "code", &Finding::code), field(4, "severity", &Finding::severity),
                 field(5, "confidence", &Finding::confidence), field(6, "subject", &Finding::subject),
                 field(7, "state", &Finding::state), group(8, "context", &Finding::context, Shape::kNested),
                 field(9, "pid", &Finding::pid), field(10, "start_ns", &Finding::start_ns, Unit::kNs),
                 field(11, "tool", &Finding::tool), field(12, "first_ns", &Finding::first_ns, Unit::kNs),
                 field(13, "last_ns", &Finding::last_ns, Unit::kNs), field(14, "count", &Finding::count, Unit::kCount),
                 field(15, "text", &Finding::text), field(16, "advice", &Finding::advice),
                 group(17, "evidence", &Finding::evidence, Shape::kNested));
};

template <>
struct Schema<SyscallUse> {
  static constexpr std::string_view kName = "syscall_use";
  static constexpr auto fields = std::tuple(
      field(1, "time_ns", &SyscallUse::time_ns, Unit::kNs), group(2, "process", &SyscallUse::process, Shape::kFlat),
      field(3, "number", &SyscallUse::number), field(4, "name", &SyscallUse::name),
      field(5, "calls", &SyscallUse::calls, Unit::kCount), field(6, "failed", &SyscallUse::failed, Unit::kCount),
      field(7, "duration_ns", &SyscallUse::duration_ns, Unit::kNs), field(8, "error", &SyscallUse::error));
};

template <>
struct Schema<GpuSample> {
  static constexpr std::string_view kName = "gpu_sample";
  static constexpr auto fields = std::tuple(
      field(1, "time_ns", &GpuSample::time_ns, Unit::kNs), group(2, "process", &GpuSample::process, Shape::kFlat),
      field(3, "since_ns", &GpuSample::since_ns, Unit::kNs), field(4, "gpu", &GpuSample::gpu),
      field(5, "gpu_name", &GpuSample::gpu_name), field(6, "gpu_uuid", &GpuSample::gpu_uuid),
      field(7, "memory_bytes", &GpuSample::memory_bytes, Unit::kBytes),
      field(8, "busy_ns", &GpuSample::busy_ns, Unit::kNs), field(9, "gpu_busy_ns", &GpuSample::gpu_busy_ns, Unit::kNs),
      field(10, "gpu_memory_bytes", &GpuSample::gpu_memory_bytes, Unit::kBytes),
      field(11, "gpu_capacity_bytes", &GpuSample::gpu_capacity_bytes, Unit::kBytes));
};

template <>
struct Schema<GpuUse> {
  static constexpr std::string_view kName = "gpu_use";
  static constexpr auto fields =
      std::tuple(field(1, "time_ns", &GpuUse::time_ns, Unit::kNs), group(2, "process", &GpuUse::process, Shape::kFlat),
                 field(3, "interface", &GpuUse::interface), field(4, "library", &GpuUse::library),
                 field(5, "allocations", &GpuUse::allocations, Unit::kCount),
                 field(6, "allocated_bytes", &GpuUse::allocated_bytes, Unit::kBytes),
                 field(7, "failed_allocations", &GpuUse::failed_allocations, Unit::kCount),
                 field(8, "frees", &GpuUse::frees, Unit::kCount), field(9, "waits", &GpuUse::waits, Unit::kCount),
                 field(10, "wait_ns", &GpuUse::wait_ns, Unit::kNs),
                 field(11, "context_switches", &GpuUse::context_switches, Unit::kCount));
};

template <>
struct Schema<HostSample> {
  static constexpr std::string_view kName = "host_sample";
  static constexpr auto fields = std::tuple(
      field(1, "time_ns", &HostSample::time_ns, Unit::kNs), field(2, "since_ns", &HostSample::since_ns, Unit::kNs),
      field(3, "cpus", &HostSample::cpus, Unit::kCount), field(4, "task_cpu_ns", &HostSample::task_cpu_ns, Unit::kNs),
      field(5, "system_cpu_ns", &HostSample::system_cpu_ns, Unit::kNs),
      field(6, "idle_cpu_ns", &HostSample::idle_cpu_ns, Unit::kNs),
      field(7, "steal_cpu_ns", &HostSample::steal_cpu_ns, Unit::kNs),
      field(8, "memory_bytes", &HostSample::memory_bytes, Unit::kBytes),
      field(9, "task_memory_bytes", &HostSample::task_memory_bytes, Unit::kBytes),
      field(10, "system_memory_bytes", &HostSample::system_memory_bytes, Unit::kBytes),
      field(11, "available_memory_bytes", &HostSample::available_memory_bytes, Unit::kBytes),
      field(12, "tasks", &HostSample::tasks, Unit::kCount),
      field(13, "network_bytes", &HostSample::network_bytes, Unit::kBytes),
      field(14, "storage_bytes", &HostSample::storage_bytes, Unit::kBytes),
      field(15, "provider", &HostSample::provider), field(16, "instance_type", &HostSample::instance_type),
      field(17, "instance_id", &HostSample::instance_id));
};

template <>
struct Schema<SessionEnd> {
  static constexpr std::string_view kName = "session_end";
  static constexpr auto fields =
      std::tuple(field(1, "time_ns", &SessionEnd::time_ns, Unit::kNs),
                 field(2, "processes_started", &SessionEnd::processes_started, Unit::kCount),
                 field(3, "processes_ended", &SessionEnd::processes_ended, Unit::kCount),
                 field(4, "exits_delivered", &SessionEnd::exits_delivered, Unit::kCount),
                 field(5, "losses", &SessionEnd::losses, Unit::kCount),
                 field(6, "cost_cpu_ns", &SessionEnd::cost_cpu_ns, Unit::kNs),
                 field(7, "cost_kernel_ns", &SessionEnd::cost_kernel_ns, Unit::kNs),
                 field(8, "cost_memory_bytes", &SessionEnd::cost_memory_bytes, Unit::kBytes),
                 field(9, "cost_kernel_memory_bytes", &SessionEnd::cost_kernel_memory_bytes, Unit::kBytes),
                 field(10, "missing_families", &SessionEnd::missing_families),
                 field(11, "missed_at_most", &SessionEnd::missed_at_most, Unit::kCount));
};

template <class... T>
consteval bool all_have_sound_numbers(TypeList<T...>) {
  return (has_sound_numbers<T>() && ...);
}
static_assert(
    all_have_sound_numbers(EventTypes()) &&
    all_have_sound_numbers(TypeList<FailedProcess, AwaitedTask, TaskTotals, Requested, Label, Overruled,
                                    ContextProvenance, Context, Program, Cgroup, Process, Ledger, ProcessLedger,
                                    Account, ProgramAccount, Progress, KindCount, Evidence, TaskLedger, HostInfo>()));

/// True for the events that are about one process.
template <class E>
concept ProcessEvent = requires(E e) {
  e.process;
};

}  // namespace tracer::internal
