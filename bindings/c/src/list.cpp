// SPDX-License-Identifier: Apache-2.0
#include "list_handle.hpp"

#include "account_fields.hpp"
#include "families.hpp"
#include "host_fields.hpp"
#include "sizes.hpp"

using namespace tracer;
using namespace tracer::c;

namespace {

/// Throws Refusal.
template <class T>
const T& element(const tracer_list* list, size_t index) {
  const auto* elements = std::get_if<std::vector<T>>(&need(list, "list").elements);
  if (elements == nullptr) throw Refusal{TRACER_WRONG_KIND, "the list has other elements"};
  if (index >= elements->size()) throw Refusal{TRACER_OUT_OF_RANGE, "no such element"};
  return (*elements)[index];
}

/// Into what has status, error_number, what, fix and detail.
template <class T>
void fill_problem(T& out, const Problem& problem) {
  out.status = status_of(problem.code);
  out.error_number = problem.error_number;
  out.what = string_of(problem.what);
  out.fix = string_of(problem.fix);
  out.detail = string_of(problem.detail);
}

}  // namespace

size_t tracer_list_count(const tracer_list* list) {
  if (list == nullptr) return 0;
  return std::visit([](const auto& elements) { return elements.size(); }, list->elements);
}

void tracer_list_free(tracer_list* list) { delete list; }

tracer_status tracer_list_string(const tracer_list* list, size_t index, tracer_string* out) {
  if (out != nullptr) *out = {nullptr, 0};
  return guard(nullptr, [&] {
    const std::string& text = element<std::string>(list, index);
    need(out, "out") = string_of(text);
  });
}

tracer_status tracer_list_problem(const tracer_list* list, size_t index, tracer_problem* out) {
  return guard(nullptr, [&] {
    tracer_problem value{};
    fill_problem(value, element<Problem>(list, index));
    give(out, value, "out");
  });
}

tracer_status tracer_list_family(const tracer_list* list, size_t index, tracer_family_state* out) {
  return guard(nullptr, [&] {
    const FamilyState& state = element<FamilyState>(list, index);
    tracer_family_state value{};
    value.name = string_of(to_string(state.family));
    value.mechanism = string_of(state.mechanism);
    value.family = bit_of(state.family);
    value.active = state.active ? 1 : 0;
    value.has_problem = state.problem ? 1 : 0;
    if (state.problem) fill_problem(value, *state.problem);
    give(out, value, "out");
  });
}

tracer_status tracer_list_check_item(const tracer_list* list, size_t index, tracer_check_item* out) {
  return guard(nullptr, [&] {
    const CheckItem& item = element<CheckItem>(list, index);
    tracer_check_item value{};
    value.name = string_of(item.name);
    value.effect = string_of(item.effect);
    value.required = item.required ? 1 : 0;
    value.available = item.available ? 1 : 0;
    if (item.problem) fill_problem(value, *item.problem);
    give(out, value, "out");
  });
}

tracer_status tracer_list_loss(const tracer_list* list, size_t index, tracer_loss_count* out) {
  return guard(nullptr, [&] {
    const LossCount& loss = element<LossCount>(list, index);
    give(out, {0, string_of(loss.cause), loss.count}, "out");
  });
}

tracer_status tracer_list_totals(const tracer_list* list, size_t index, tracer_totals* out) {
  return guard(nullptr, [&] {
    const ContextTotals& totals = element<ContextTotals>(list, index);
    tracer_totals value{};
    value.living = totals.living;
    value.ended = totals.ended;
    value.failed = totals.failed;
    value.contexts = totals.contexts;
    fill_account(value, totals.account);
    put(value, value.storage_cancelled_bytes, TRACER_HAS_STORAGE_CANCELLED_BYTES,
        totals.account.storage_cancelled_bytes);
    put(value, value.read_at_most_bytes, TRACER_HAS_READ_AT_MOST_BYTES, totals.account.read_at_most_bytes);
    put(value, value.read_calls, TRACER_HAS_READ_CALLS, totals.account.read_calls);
    put(value, value.write_calls, TRACER_HAS_WRITE_CALLS, totals.account.write_calls);
    fill_context(value, totals.context);
    value.labels = list->labels[index].data();
    value.label_count = list->labels[index].size();
    give(out, value, "out");
  });
}

tracer_status tracer_list_host(const tracer_list* list, size_t index, tracer_host* out) {
  return guard(nullptr, [&] { give(out, host_in_c(element<HostInfo>(list, index)), "out"); });
}

tracer_status tracer_list_reason(const tracer_list* list, size_t index, tracer_reason* out) {
  return guard(nullptr, [&] {
    const ContextReason& reason = element<ContextReason>(list, index);
    tracer_reason value{};
    value.field = string_of(reason.field);
    value.value = string_of(reason.value);
    value.rule = string_of(reason.rule);
    value.condition = string_of(reason.condition);
    value.provenance = reason.provenance ? static_cast<tracer_provenance>(*reason.provenance) : tracer_provenance{0};
    value.overruled = reason.overruled ? 1 : 0;
    give(out, value, "out");
  });
}
