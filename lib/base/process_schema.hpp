// SPDX-License-Identifier: Apache-2.0
/// The fields of processes and what they consumed, of contexts and of hosts. The rules are in event_schema.hpp.
#pragma once

#include <tracer/host.hpp>
#include <tracer/process.hpp>

#include "base/schema.hpp"

namespace tracer::internal {

template <>
struct Schema<Label> {
  static constexpr auto fields = std::tuple(field(1, "name", &Label::name), field(2, "value", &Label::value));
};

template <>
struct Schema<Overruled> {
  static constexpr auto fields = std::tuple(field(1, "field", &Overruled::field), field(2, "value", &Overruled::value),
                                            field(3, "provenance", &Overruled::provenance));
};

template <>
struct Schema<ContextProvenance> {
  static constexpr auto fields =
      std::tuple(field(1, "pipeline", &ContextProvenance::pipeline), field(2, "run", &ContextProvenance::run),
                 field(3, "step", &ContextProvenance::step), field(4, "sample", &ContextProvenance::sample),
                 field(5, "task", &ContextProvenance::task), field(6, "task_id", &ContextProvenance::task_id),
                 field(7, "attempt", &ContextProvenance::attempt), field(8, "engine", &ContextProvenance::engine),
                 field(9, "labels", &ContextProvenance::labels), field(10, "run_id", &ContextProvenance::run_id));
};

template <>
struct Schema<Context> {
  static constexpr bool kPart = true;
  static constexpr auto fields = std::tuple(
      field(1, "pipeline", &Context::pipeline), field(2, "run", &Context::run), field(3, "step", &Context::step),
      field(4, "sample", &Context::sample), field(5, "task", &Context::task), field(6, "task_id", &Context::task_id),
      field(7, "attempt", &Context::attempt), field(8, "engine", &Context::engine),
      field(9, "run_id", &Context::run_id), field(10, "within", &Context::within),
      field(11, "engine_own", &Context::engine_own), group(12, "labels", &Context::labels, Shape::kNested),
      group(13, "provenance", &Context::provenance, Shape::kBeside),
      group(14, "overruled", &Context::overruled, Shape::kNested), field(15, "rules", &Context::rules),
      field(16, "run_key", &Context::run_key), field(17, "task_key", &Context::task_key),
      field(18, "owner_uid", &Context::owner_uid),
      field(19, "labels_cut_bytes", &Context::labels_cut_bytes, Unit::kBytes));
};

template <>
struct Schema<Program> {
  static constexpr bool kPart = true;
  static constexpr auto fields =
      std::tuple(field(1, "comm", &Program::comm), field(2, "exe", &Program::exe), field(3, "argv", &Program::argv),
                 field(4, "argv_cut_bytes", &Program::argv_cut_bytes, Unit::kBytes), field(5, "cwd", &Program::cwd),
                 field(6, "tool", &Program::tool), field(7, "exec_euid", &Program::exec_euid));
};

template <>
struct Schema<Cgroup> {
  static constexpr bool kPart = true;
  static constexpr auto fields =
      std::tuple(field(1, "cgroup", &Cgroup::path), field(2, "cgroup_id", &Cgroup::id),
                 field(3, "cgroup_hierarchy", &Cgroup::hierarchy), field(4, "container_id", &Cgroup::container_id));
};

template <>
struct Schema<Process> {
  static constexpr auto fields = std::tuple(
      field(1, "pid", &Process::pid), field(2, "start_ns", &Process::start_ns, Unit::kNs),
      field(3, "parent_pid", &Process::parent_pid), field(4, "parent_start_ns", &Process::parent_start_ns, Unit::kNs),
      field(5, "uid", &Process::uid), field(6, "pid_namespace", &Process::pid_namespace),
      field(7, "mount_namespace", &Process::mount_namespace), group(8, "program", &Process::program, Shape::kFlat),
      group(9, "cgroup", &Process::cgroup, Shape::kFlat), group(10, "context", &Process::context, Shape::kNested));
};

template <>
struct Schema<Ledger> {
  static constexpr auto fields = std::tuple(
      field(1, "cpu_user_ns", &Ledger::cpu_user_ns, Unit::kNs),
      field(2, "cpu_system_ns", &Ledger::cpu_system_ns, Unit::kNs),
      field(3, "run_queue_ns", &Ledger::run_queue_ns, Unit::kNs), field(4, "disk_ns", &Ledger::disk_ns, Unit::kNs),
      field(5, "pipe_ns", &Ledger::pipe_ns, Unit::kNs), field(22, "network_ns", &Ledger::network_ns, Unit::kNs),
      field(23, "local_socket_ns", &Ledger::local_socket_ns, Unit::kNs),
      field(7, "lock_ns", &Ledger::lock_ns, Unit::kNs), field(8, "child_ns", &Ledger::child_ns, Unit::kNs),
      field(9, "sleep_ns", &Ledger::sleep_ns, Unit::kNs), field(10, "poll_ns", &Ledger::poll_ns, Unit::kNs),
      field(11, "reclaim_ns", &Ledger::reclaim_ns, Unit::kNs), field(12, "swap_ns", &Ledger::swap_ns, Unit::kNs),
      field(13, "throttled_ns", &Ledger::throttled_ns, Unit::kNs),
      field(14, "stopped_ns", &Ledger::stopped_ns, Unit::kNs), field(15, "other_ns", &Ledger::other_ns, Unit::kNs),
      field(16, "wall_ns", &Ledger::wall_ns, Unit::kNs), field(17, "cpu_ns", &Ledger::cpu_ns, Unit::kNs),
      field(18, "pipe_read_ns", &Ledger::pipe_read_ns, Unit::kNs),
      field(19, "pipe_write_ns", &Ledger::pipe_write_ns, Unit::kNs),
      field(20, "pipe_read_peer_pid", &Ledger::pipe_read_peer_pid),
      field(21, "pipe_write_peer_pid", &Ledger::pipe_write_peer_pid),
      field(24, "local_socket_peer_pid", &Ledger::local_socket_peer_pid),
      field(25, "local_socket_peer_ns", &Ledger::local_socket_peer_ns, Unit::kNs),
      field(26, "lock_peer_pid", &Ledger::lock_peer_pid), field(27, "lock_peer_ns", &Ledger::lock_peer_ns, Unit::kNs));
};

template <>
struct Schema<ProcessLedger> {
  static constexpr auto fields = std::tuple(field(1, "running_ns", &ProcessLedger::running_ns, Unit::kNs),
                                            field(2, "run_queue_ns", &ProcessLedger::run_queue_ns, Unit::kNs),
                                            field(3, "disk_ns", &ProcessLedger::disk_ns, Unit::kNs),
                                            field(4, "pipe_ns", &ProcessLedger::pipe_ns, Unit::kNs),
                                            field(18, "network_ns", &ProcessLedger::network_ns, Unit::kNs),
                                            field(19, "local_socket_ns", &ProcessLedger::local_socket_ns, Unit::kNs),
                                            field(6, "lock_ns", &ProcessLedger::lock_ns, Unit::kNs),
                                            field(7, "child_ns", &ProcessLedger::child_ns, Unit::kNs),
                                            field(8, "sleep_ns", &ProcessLedger::sleep_ns, Unit::kNs),
                                            field(9, "poll_ns", &ProcessLedger::poll_ns, Unit::kNs),
                                            field(10, "reclaim_ns", &ProcessLedger::reclaim_ns, Unit::kNs),
                                            field(11, "swap_ns", &ProcessLedger::swap_ns, Unit::kNs),
                                            field(12, "throttled_ns", &ProcessLedger::throttled_ns, Unit::kNs),
                                            field(13, "stopped_ns", &ProcessLedger::stopped_ns, Unit::kNs),
                                            field(14, "other_ns", &ProcessLedger::other_ns, Unit::kNs),
                                            field(15, "life_ns", &ProcessLedger::life_ns, Unit::kNs),
                                            field(16, "pipe_read_ns", &ProcessLedger::pipe_read_ns, Unit::kNs),
                                            field(17, "pipe_write_ns", &ProcessLedger::pipe_write_ns, Unit::kNs));
};

template <>
struct Schema<TaskLedger> {
  static constexpr auto fields = std::tuple(
      field(1, "computing_ns", &TaskLedger::computing_ns, Unit::kNs),
      field(2, "queued_ns", &TaskLedger::queued_ns, Unit::kNs),
      field(3, "throttled_ns", &TaskLedger::throttled_ns, Unit::kNs),
      field(4, "disk_ns", &TaskLedger::disk_ns, Unit::kNs), field(5, "network_ns", &TaskLedger::network_ns, Unit::kNs),
      field(6, "pipe_ns", &TaskLedger::pipe_ns, Unit::kNs),
      field(7, "local_socket_ns", &TaskLedger::local_socket_ns, Unit::kNs),
      field(8, "lock_ns", &TaskLedger::lock_ns, Unit::kNs), field(9, "sleep_ns", &TaskLedger::sleep_ns, Unit::kNs),
      field(10, "poll_ns", &TaskLedger::poll_ns, Unit::kNs), field(11, "memory_ns", &TaskLedger::memory_ns, Unit::kNs),
      field(12, "stopped_ns", &TaskLedger::stopped_ns, Unit::kNs),
      field(13, "other_ns", &TaskLedger::other_ns, Unit::kNs), field(14, "wall_ns", &TaskLedger::wall_ns, Unit::kNs),
      field(15, "computing_at_most_ns", &TaskLedger::computing_at_most_ns, Unit::kNs));
};

template <>
struct Schema<Account> {
  static constexpr auto fields =
      std::tuple(field(1, "cpu_ns", &Account::cpu_ns, Unit::kNs), field(2, "user_ns", &Account::user_ns, Unit::kNs),
                 field(3, "system_ns", &Account::system_ns, Unit::kNs),
                 field(4, "run_queue_ns", &Account::run_queue_ns, Unit::kNs),
                 field(5, "minor_faults", &Account::minor_faults, Unit::kCount),
                 field(6, "major_faults", &Account::major_faults, Unit::kCount),
                 field(7, "voluntary_switches", &Account::voluntary_switches, Unit::kCount),
                 field(8, "involuntary_switches", &Account::involuntary_switches, Unit::kCount),
                 field(9, "peak_rss_bytes", &Account::peak_rss_bytes, Unit::kBytes),
                 field(10, "peak_rss_at_most_bytes", &Account::peak_rss_at_most_bytes, Unit::kBytes),
                 field(11, "read_bytes", &Account::read_bytes, Unit::kBytes),
                 field(12, "read_at_most_bytes", &Account::read_at_most_bytes, Unit::kBytes),
                 field(13, "written_bytes", &Account::written_bytes, Unit::kBytes),
                 field(14, "read_calls", &Account::read_calls, Unit::kCount),
                 field(15, "write_calls", &Account::write_calls, Unit::kCount),
                 field(16, "storage_read_bytes", &Account::storage_read_bytes, Unit::kBytes),
                 field(17, "storage_written_bytes", &Account::storage_written_bytes, Unit::kBytes),
                 field(18, "storage_cancelled_bytes", &Account::storage_cancelled_bytes, Unit::kBytes),
                 group(19, "ledger", &Account::ledger, Shape::kNested),
                 group(20, "process_ledger", &Account::process_ledger, Shape::kNested),
                 field(21, "peak_rss_at_least_bytes", &Account::peak_rss_at_least_bytes, Unit::kBytes),
                 field(22, "network_sent_bytes", &Account::network_sent_bytes, Unit::kBytes),
                 field(23, "network_received_bytes", &Account::network_received_bytes, Unit::kBytes),
                 field(24, "cpu_at_least_ns", &Account::cpu_at_least_ns, Unit::kNs),
                 field(25, "missed_children_cpu_ns", &Account::missed_children_cpu_ns, Unit::kNs));
};

template <>
struct Schema<ProgramAccount> {
  static constexpr auto fields = std::tuple(field(1, "start_ns", &ProgramAccount::start_ns, Unit::kNs),
                                            field(2, "end_ns", &ProgramAccount::end_ns, Unit::kNs),
                                            group(3, "program", &ProgramAccount::program, Shape::kBrief),
                                            group(4, "account", &ProgramAccount::account, Shape::kFlat),
                                            field(5, "engine_own", &ProgramAccount::engine_own));
};

template <>
struct Schema<HostInfo> {
  static constexpr auto fields = std::tuple(
      field(1, "boot_id", &HostInfo::boot_id), field(2, "host_name", &HostInfo::host_name),
      field(3, "kernel_release", &HostInfo::kernel_release), field(4, "architecture", &HostInfo::architecture),
      field(5, "cpu_count", &HostInfo::cpu_count, Unit::kCount),
      field(6, "memory_bytes", &HostInfo::memory_bytes, Unit::kBytes),
      field(7, "wall_offset_ns", &HostInfo::wall_offset_ns, Unit::kNs),
      field(8, "tracer_version", &HostInfo::tracer_version), field(9, "session_id", &HostInfo::session_id));
};

}  // namespace tracer::internal
