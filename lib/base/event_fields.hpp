// SPDX-License-Identifier: Apache-2.0
/// The names of all fields of all events, in their order: the one list behind dumps, recordings and documentation.
///
/// A visitor is called as visitor(name, member) for a value and visitor.group(name, member) for a nested object. Fields
/// are only appended and never renamed: recordings are read by these names.
#pragma once

#include <concepts>
#include <type_traits>

#include <tracer/event.hpp>
#include <tracer/host.hpp>

namespace tracer {

template <class T, class Of>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Of>;

template <class V, MaybeConst<Context> T>
void visit_fields(V& v, T& c) {
  v("pipeline", c.pipeline);
  v("run", c.run);
  v("step", c.step);
  v("sample", c.sample);
}

template <class V, MaybeConst<Process> T>
void visit_fields(V& v, T& p) {
  v("pid", p.pid);
  v("start_ns", p.start_ns);
  v("parent_pid", p.parent_pid);
  v("parent_start_ns", p.parent_start_ns);
  v("uid", p.uid);
  v("comm", p.comm);
  v("exe", p.exe);
  v("argv", p.argv);
  v("argv_cut_bytes", p.argv_cut_bytes);
  v("cwd", p.cwd);
  v("cgroup", p.cgroup);
  v("cgroup_id", p.cgroup_id);
  v("cgroup_hierarchy", p.cgroup_hierarchy);
  v("container_id", p.container_id);
  v("pid_namespace", p.pid_namespace);
  v("mount_namespace", p.mount_namespace);
  v("tool", p.tool);
  visit_fields(v, p.context);
}

template <class V, MaybeConst<Ledger> T>
void visit_fields(V& v, T& l) {
  v("cpu_user_ns", l.cpu_user_ns);
  v("cpu_system_ns", l.cpu_system_ns);
  v("run_queue_ns", l.run_queue_ns);
  v("disk_ns", l.disk_ns);
  v("pipe_ns", l.pipe_ns);
  v("socket_ns", l.socket_ns);
  v("lock_ns", l.lock_ns);
  v("child_ns", l.child_ns);
  v("sleep_ns", l.sleep_ns);
  v("poll_ns", l.poll_ns);
  v("reclaim_ns", l.reclaim_ns);
  v("swap_ns", l.swap_ns);
  v("throttled_ns", l.throttled_ns);
  v("stopped_ns", l.stopped_ns);
  v("other_ns", l.other_ns);
  v("wall_ns", l.wall_ns);
  v("cpu_ns", l.cpu_ns);
  v("pipe_read_ns", l.pipe_read_ns);
  v("pipe_write_ns", l.pipe_write_ns);
  v("pipe_read_peer_pid", l.pipe_read_peer_pid);
  v("pipe_write_peer_pid", l.pipe_write_peer_pid);
}

/// False: nothing of it is known.
inline bool is_known(const Progress& progress) noexcept { return progress.file.has_value(); }
inline bool is_known(const Ledger& ledger) noexcept { return ledger.wall_ns.has_value(); }
template <class T>
bool is_known(const T&) noexcept {
  return true;
}

template <class V, MaybeConst<Account> T>
void visit_fields(V& v, T& a) {
  v("cpu_ns", a.cpu_ns);
  v("user_ns", a.user_ns);
  v("system_ns", a.system_ns);
  v("run_queue_ns", a.run_queue_ns);
  v("minor_faults", a.minor_faults);
  v("major_faults", a.major_faults);
  v("voluntary_switches", a.voluntary_switches);
  v("involuntary_switches", a.involuntary_switches);
  v("peak_rss_bytes", a.peak_rss_bytes);
  v("peak_rss_at_most_bytes", a.peak_rss_at_most_bytes);
  v("read_bytes", a.read_bytes);
  v("read_at_most_bytes", a.read_at_most_bytes);
  v("written_bytes", a.written_bytes);
  v("read_calls", a.read_calls);
  v("write_calls", a.write_calls);
  v("storage_read_bytes", a.storage_read_bytes);
  v("storage_written_bytes", a.storage_written_bytes);
  v("storage_cancelled_bytes", a.storage_cancelled_bytes);
  v.group("ledger", a.ledger);
}

template <class V, MaybeConst<ProgramAccount> T>
void visit_fields(V& v, T& p) {
  v("start_ns", p.start_ns);
  v("end_ns", p.end_ns);
  v("exe", p.exe);
  v("tool", p.tool);
  visit_fields(v, p.account);
}

template <class V, MaybeConst<ProcessStart> T>
void visit_fields(V& v, T& e) {
  v("attached_ns", e.attached_ns);
}

template <class V, MaybeConst<ProcessExec> T>
void visit_fields(V& v, T& e) {
  v("attached_ns", e.attached_ns);
  v.group("ended", e.ended);
}

template <class V, MaybeConst<ProcessExit> T>
void visit_fields(V& v, T& e) {
  v("end_ns", e.end_ns);
  v("attached_ns", e.attached_ns);
  v("exit_code", e.exit_code);
  v("exit_signal", e.exit_signal);
  v("core_dumped", e.core_dumped);
  v("status_is_answer", e.status_is_answer);
  v("threads", e.threads);
  visit_fields(v, e.account);
  v.group("program", e.program);
}

template <class V, MaybeConst<Progress> T>
void visit_fields(V& v, T& p) {
  v("file", p.file);
  v("position_bytes", p.position_bytes);
  v("size_bytes", p.size_bytes);
  v("bytes_per_s", p.bytes_per_s);
  v("time_left_ns", p.time_left_ns);
}

template <class V, MaybeConst<ProcessSample> T>
void visit_fields(V& v, T& e) {
  v("attached_ns", e.attached_ns);
  v("threads", e.threads);
  v("state", e.state);
  v("rss_anonymous_bytes", e.rss_anonymous_bytes);
  v("rss_file_bytes", e.rss_file_bytes);
  v("rss_shared_bytes", e.rss_shared_bytes);
  v("pss_bytes", e.pss_bytes);
  v.group("progress", e.progress);
  visit_fields(v, e.account);
}

template <class V, MaybeConst<ToolSample> T>
void visit_fields(V& v, T& e) {
  v("tool", e.tool);
  visit_fields(v, e.context);
  v("processes", e.processes);
  v("running", e.running);
  v("threads", e.threads);
  v("rss_anonymous_bytes", e.rss_anonymous_bytes);
  v("rss_file_bytes", e.rss_file_bytes);
  v("rss_shared_bytes", e.rss_shared_bytes);
  v("held_bytes", e.held_bytes);
  visit_fields(v, e.account);
}

template <class V, MaybeConst<CgroupSample> T>
void visit_fields(V& v, T& e) {
  v("cgroup", e.cgroup);
  v("cgroup_id", e.cgroup_id);
  v("cgroup_hierarchy", e.cgroup_hierarchy);
  v("container_id", e.container_id);
  v("has_below", e.has_below);
  v("processes", e.processes);
  v("followed_processes", e.followed_processes);
  v("memory_bytes", e.memory_bytes);
  v("memory_peak_bytes", e.memory_peak_bytes);
  v("file_bytes", e.file_bytes);
  v("kernel_bytes", e.kernel_bytes);
  v("held_bytes", e.held_bytes);
  v("unexplained_bytes", e.unexplained_bytes);
  v("throttled_ns", e.throttled_ns);
}

template <class V, MaybeConst<Loss> T>
void visit_fields(V& v, T& e) {
  v("cause", e.cause);
  v("count", e.count);
}

template <class V, MaybeConst<SessionEnd> T>
void visit_fields(V& v, T& e) {
  v("processes_started", e.processes_started);
  v("processes_ended", e.processes_ended);
  v("exits_delivered", e.exits_delivered);
  v("losses", e.losses);
  v("cost_cpu_ns", e.cost_cpu_ns);
  v("cost_kernel_ns", e.cost_kernel_ns);
  v("cost_memory_bytes", e.cost_memory_bytes);
  v("cost_kernel_memory_bytes", e.cost_kernel_memory_bytes);
  v("missing_families", e.missing_families);
}

template <class V, MaybeConst<HostInfo> T>
void visit_fields(V& v, T& h) {
  v("boot_id", h.boot_id);
  v("host_name", h.host_name);
  v("kernel_release", h.kernel_release);
  v("architecture", h.architecture);
  v("cpu_count", h.cpu_count);
  v("memory_bytes", h.memory_bytes);
  v("wall_offset_ns", h.wall_offset_ns);
  v("tracer_version", h.tracer_version);
}

/// True for the events that are about one process.
template <class E>
concept ProcessEvent = requires(E e) {
  e.process;
};

/// time_ns, then the process, then the event's own fields.
template <class V, class E>
void visit_event(V& v, const E& event) {
  v("time_ns", event.time_ns);
  if constexpr (ProcessEvent<E>) visit_fields(v, *event.process);
  visit_fields(v, event);
}

/// As above, to fill in an event; `v` gives the values.
template <class V, class E>
void fill_event(V& v, E& event) {
  v("time_ns", event.time_ns);
  if constexpr (ProcessEvent<E>) {
    auto process = std::make_shared<Process>();
    visit_fields(v, *process);
    if constexpr (std::same_as<E, ProcessExit>) event.start_ns = process->start_ns;
    event.process = std::move(process);
  }
  visit_fields(v, event);
}

}  // namespace tracer
