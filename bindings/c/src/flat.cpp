// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <optional>

#include <tracer/event.hpp>

#include "account_fields.hpp"
#include "event_handle.hpp"
#include "sizes.hpp"

namespace {

using namespace tracer;
using namespace tracer::c;

using Flat = tracer_event_flat;

void fill(Flat& flat, const Program& program) {
  flat.comm = string_of(program.comm);
  flat.exe = string_of(program.exe);
  flat.cwd = string_of(program.cwd);
  flat.tool = string_of(program.tool);
}

void fill(Flat& flat, const Cgroup& cgroup) {
  flat.cgroup = string_of(cgroup.path);
  flat.container_id = string_of(cgroup.container_id);
}

void fill(Flat& flat, const Context& context) {
  fill_context(flat, context);
  flat.run_id = string_of(context.run_id);
  flat.run_key = static_cast<std::uint64_t>(context.run_key.value_or(Key{0}));
  flat.task_key = static_cast<std::uint64_t>(context.task_key.value_or(Key{0}));
}

void fill(Flat& flat, const Process& process) {
  put(flat, flat.pid, TRACER_HAS_PID, process.pid);
  put(flat, flat.start_ns, TRACER_HAS_START_NS, process.start_ns);
  put(flat, flat.parent_pid, TRACER_HAS_PARENT_PID, process.parent_pid);
  put(flat, flat.parent_start_ns, TRACER_HAS_PARENT_START_NS, process.parent_start_ns);
  put(flat, flat.uid, TRACER_HAS_UID, process.uid);
  fill(flat, *process.program);
  fill(flat, *process.cgroup);
  fill(flat, *process.context);
}

void fill(Flat& flat, const Account& account) {
  fill_account(flat, account);
  put(flat, flat.peak_rss_bytes, TRACER_HAS_PEAK_RSS_BYTES, account.peak_rss_bytes);
}

template <class E>
void fill_leader(Flat& flat, const E& event) {
  put(flat, flat.pid, TRACER_HAS_PID, event.pid);
  put(flat, flat.start_ns, TRACER_HAS_START_NS, event.start_ns);
}

template <class E>
void fill_finish(Flat& flat, const E& event) {
  put(flat, flat.processes, TRACER_HAS_PROCESSES, event.totals.processes);
  put(flat, flat.peak_bytes, TRACER_HAS_PEAK_BYTES, event.totals.peak_bytes);
  fill(flat, event.totals.account);
}

template <class E>
void fill_resident(Flat& flat, const E& event) {
  put(flat, flat.rss_anonymous_bytes, TRACER_HAS_RSS_ANONYMOUS_BYTES, event.rss_anonymous_bytes);
  put(flat, flat.rss_file_bytes, TRACER_HAS_RSS_FILE_BYTES, event.rss_file_bytes);
  put(flat, flat.rss_shared_bytes, TRACER_HAS_RSS_SHARED_BYTES, event.rss_shared_bytes);
}

/// By what an event has, not by its kind: a field has the same name in all of them.
template <class E>
void fill_event(Flat& flat, const E& event) {
  flat.time_ns = event.time_ns;
  if constexpr (requires { *event.process; }) fill(flat, *event.process);
  if constexpr (requires { *event.context; }) fill(flat, *event.context);
  if constexpr (requires { *event.after; }) fill(flat, *event.after);
  if constexpr (requires { *event.cgroup; }) fill(flat, *event.cgroup);
  if constexpr (requires { event.account; }) fill(flat, event.account);
  if constexpr (requires { event.totals; }) fill_finish(flat, event);
  if constexpr (requires { event.rss_file_bytes; }) fill_resident(flat, event);
  if constexpr (requires {
                  event.pid;
                  event.start_ns;
                })
    fill_leader(flat, event);
  if constexpr (requires { event.end_ns; }) put(flat, flat.end_ns, TRACER_HAS_END_NS, event.end_ns);
  if constexpr (requires { event.attached_ns; }) put(flat, flat.attached_ns, TRACER_HAS_ATTACHED_NS, event.attached_ns);
  if constexpr (requires { event.threads; }) put(flat, flat.threads, TRACER_HAS_THREADS, event.threads);
  if constexpr (requires { event.processes; }) put(flat, flat.processes, TRACER_HAS_PROCESSES, event.processes);
  if constexpr (requires { event.memory_bytes; })
    put(flat, flat.memory_bytes, TRACER_HAS_MEMORY_BYTES, event.memory_bytes);
  if constexpr (requires { event.exit_code; }) put(flat, flat.exit_code, TRACER_HAS_EXIT_CODE, event.exit_code);
  if constexpr (requires { event.exit_signal; }) put(flat, flat.exit_signal, TRACER_HAS_EXIT_SIGNAL, event.exit_signal);
  if constexpr (requires { event.failed(); }) put(flat, flat.failed, TRACER_HAS_FAILED, event.failed() ? 1u : 0u);
  if constexpr (requires { event.tool; }) flat.tool = string_of(event.tool);
  if constexpr (requires { event.uid; }) put(flat, flat.uid, TRACER_HAS_UID, event.uid);
  if constexpr (requires { event.cause; }) {
    flat.cause = string_of(event.cause);
    put(flat, flat.count, TRACER_HAS_COUNT, event.count);
  }
}

}  // namespace

tracer_status tracer_event_get_flat(const tracer_event* event, tracer_event_flat* out) {
  return guard(nullptr, [&] {
    check_size(need(out, "out"), "out");
    const Event& body = event_of(need(event, "event"));
    Flat flat{};
    flat.kind = static_cast<tracer_event_kind>(body.kind());
    visit([&](const auto& of_kind) { fill_event(flat, of_kind); }, body);
    give(out, flat, "out");
  });
}
