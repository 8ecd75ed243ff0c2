// SPDX-License-Identifier: Apache-2.0
/// What a session, a machine or an event is asked for.
#include <algorithm>
#include <memory>

#include <tracer/check.hpp>
#include <tracer/explain.hpp>

#include "account_fields.hpp"
#include "base/clock.hpp"
#include "event_handle.hpp"
#include "list_handle.hpp"
#include "session_state.hpp"
#include "sizes.hpp"

using namespace tracer;
using namespace tracer::c;

namespace {

Session& session_of(const tracer_session* session) { return need_own(session, "session").state->session(); }

/// The context of an event; null: it has none.
const Context* context_in(const Event& event) {
  const Context* found = nullptr;
  visit(
      [&](const auto& body) {
        if constexpr (requires { *body.process; }) found = body.process->context.get();
        if constexpr (requires { *body.context; }) found = body.context.get();
        if constexpr (requires { *body.after; }) found = body.after.get();
      },
      event);
  return found;
}

}  // namespace

tracer_status tracer_session_families(const tracer_session* session, tracer_list** out, tracer_error* error) {
  return guard_make(out, error, [&] { return new tracer_list{session_of(session).families()}; });
}

tracer_status tracer_session_totals(const tracer_session* session, tracer_list** out, tracer_error* error) {
  return guard_make(out, error, [&] {
    auto list = std::make_unique<tracer_list>();
    const auto& all = list->elements.emplace<std::vector<ContextTotals>>(session_of(session).totals());
    for (const ContextTotals& totals : all) {
      std::vector<tracer_name_value>& labels = list->labels.emplace_back();
      for (const Label& label : totals.context.labels)
        labels.push_back({string_of(label.name), string_of(label.value)});
    }
    return list.release();
  });
}

tracer_status tracer_session_explain(const tracer_session* session, tracer_list** out, tracer_error* error) {
  return guard_make(out, error, [&] { return new tracer_list{session_of(session).explain()}; });
}

tracer_status tracer_session_rule_problems(const tracer_session* session, tracer_list** out, tracer_error* error) {
  return guard_make(out, error, [&] { return new tracer_list{session_of(session).rule_problems()}; });
}

tracer_status tracer_session_losses(const tracer_session* session, tracer_list** out, tracer_error* error) {
  return guard_make(out, error, [&] {
    std::vector<LossCount> losses;
    for (const auto& [cause, count] : session_of(session).statistics().losses) losses.push_back({cause, count});
    return new tracer_list{std::move(losses)};
  });
}

tracer_status tracer_session_statistics(const tracer_session* session, tracer_statistics* out, tracer_error* error) {
  return guard(error, [&] {
    const Statistics own = session_of(session).statistics();
    tracer_statistics value{};
    value.records = own.records;
    value.record_bytes = own.record_bytes;
    value.events = own.events;
    value.callback_errors = own.callback_errors;
    value.secrets_masked = own.secrets_masked;
    value.announcements_met = own.announcements_met;
    value.announcements_expired = own.announcements_expired;
    value.announcements_refused = own.announcements_refused;
    value.lost = own.lost();
    value.cost_cpu_ns = own.cost.cpu_ns;
    value.cost_snapshots_cpu_ns = own.cost.snapshots_cpu_ns;
    put(value, value.cost_kernel_ns, TRACER_HAS_COST_KERNEL_NS, own.cost.kernel_ns);
    put(value, value.cost_memory_bytes, TRACER_HAS_COST_MEMORY_BYTES, own.cost.memory_bytes);
    put(value, value.cost_kernel_memory_bytes, TRACER_HAS_COST_KERNEL_MEMORY_BYTES, own.cost.kernel_memory_bytes);
    put(value, value.missed_at_most, TRACER_HAS_MISSED_AT_MOST, own.missed_at_most);
    give(out, value, "out");
  });
}

tracer_status tracer_check(tracer_list** out, tracer_error* error) {
  return guard_make(out, error, [&] { return new tracer_list{check().items}; });
}

tracer_status tracer_engine_rules_check(tracer_string path, tracer_error* error) {
  return guard(error, [&] { check_engine_rules(text_or_empty(path, "path")); });
}

tracer_status tracer_event_explain(const tracer_event* event, tracer_string engine_rules, tracer_list** out,
                                   tracer_error* error) {
  return guard_make(out, error, [&] {
    const Context* context = context_in(event_of(need(event, "event")));
    if (context == nullptr) throw Refusal{TRACER_ABSENT, "events of this kind have no context"};
    return new tracer_list{explain(*context, text_or_empty(engine_rules, "engine_rules"))};
  });
}

tracer_status tracer_event_buffer_explain(const tracer_event_buffer* buffer, tracer_string engine_rules,
                                          tracer_list** lists, size_t count, tracer_error* error) {
  if (lists != nullptr) std::fill_n(lists, count, nullptr);
  return guard(error, [&] {
    const size_t there = need(buffer, "buffer").count;
    if (count != there) throw Refusal{TRACER_OUT_OF_RANGE, "count is not tracer_event_buffer_count()"};
    if (count != 0) need(lists, "lists");
    std::vector<Context> contexts;
    std::vector<size_t> places;
    for (size_t i = 0; i < count; ++i)
      if (const Context* context = context_in(buffer->events[i])) {
        contexts.push_back(*context);
        places.push_back(i);
      }
    std::vector<std::vector<ContextReason>> all = explain(contexts, text_or_empty(engine_rules, "engine_rules"));
    std::vector<std::unique_ptr<tracer_list>> made;
    for (std::vector<ContextReason>& reasons : all)
      made.emplace_back(std::make_unique<tracer_list>())->elements = std::move(reasons);
    for (size_t i = 0; i < places.size(); ++i) lists[places[i]] = made[i].release();
  });
}

tracer_status tracer_process_resolve(int32_t pid, const tracer_resolve_options* options, tracer_event** out,
                                     tracer_error* error) {
  return guard_make(out, error, [&] {
    constexpr tracer_resolve_options kDefaults = TRACER_RESOLVE_OPTIONS_INIT;
    const tracer_resolve_options given = take(options == nullptr ? &kDefaults : options, "options");
    ResolveOptions resolve;
    resolve.tool_rules = text_or_empty(given.tool_rules, "options->tool_rules");
    resolve.secret_rules = text_or_empty(given.secret_rules, "options->secret_rules");
    resolve.engine_rules = text_or_empty(given.engine_rules, "options->engine_rules");
    resolve.mask_secrets = !flag(given.keep_secrets, "options->keep_secrets");
    resolve.read_engine_notes = !flag(given.skip_engine_notes, "options->skip_engine_notes");
    ProcessStart start{};
    start.time_ns = internal::boot_time_ns();
    start.process = std::make_shared<const Process>(resolve_process(pid, resolve));
    start.attached_ns = start.time_ns;
    return new_handle(Event(std::move(start)));
  });
}
