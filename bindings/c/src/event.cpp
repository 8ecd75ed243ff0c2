// SPDX-License-Identifier: Apache-2.0
#include <new>
#include <span>

#include "base/leaves.hpp"
#include "event_handle.hpp"
#include "field_value.hpp"
#include "sizes.hpp"

namespace {

using namespace tracer;
using namespace tracer::c;
using internal::Leaf;
using internal::Type;

tracer_field_type type_in_c(Type type) {
  switch (type) {
    case Type::kBool: return TRACER_TYPE_BOOL;
    case Type::kI32:
    case Type::kI64: return TRACER_TYPE_I64;
    case Type::kText: return TRACER_TYPE_STRING;
    case Type::kTexts: return TRACER_TYPE_STRING_LIST;
    case Type::kU32:
    case Type::kU64:
    case Type::kEnum:
    case Type::kKey: break;
  }
  return TRACER_TYPE_U64;
}

tracer_field_info info_of(tracer_event_kind kind, const Leaf& leaf) {
  tracer_field_info info{};
  info.field = leaf.id;
  info.name = string_of(leaf.name);
  info.kind = kind;
  info.type = type_in_c(leaf.type);
  info.unit = static_cast<tracer_unit>(leaf.unit);
  info.nullable = leaf.nullable ? 1 : 0;
  info.list = leaf.list || leaf.type == Type::kTexts ? 1 : 0;
  return info;
}
static_assert(static_cast<int>(internal::Unit::kNs) == TRACER_UNIT_NS &&
              static_cast<int>(internal::Unit::kBytes) == TRACER_UNIT_BYTES &&
              static_cast<int>(internal::Unit::kCount) == TRACER_UNIT_COUNT &&
              static_cast<int>(internal::Unit::kBytesPerS) == TRACER_UNIT_BYTES_PER_S);

bool exists(tracer_field field) {
  for (const Leaf& leaf : internal::leaves(static_cast<EventKind>(field >> 48)))
    if (leaf.id == field) return true;
  return false;
}

/// The statuses of all getters but what they ask of the type.
tracer_status look_up(const tracer_event* event, tracer_field field, std::size_t index, FieldValue& found) {
  const Event& body = event_of(*event);
  if (static_cast<EventKind>(field >> 48) != body.kind() || body.kind() == EventKind::kNone)
    return exists(field) ? TRACER_WRONG_KIND : TRACER_NO_SUCH_FIELD;
  found = field_value(body, field, index);
  return found.known ? TRACER_OK : TRACER_NO_SUCH_FIELD;
}

/// `list`: the caller reads an element. `put` stores the value.
template <class Out, class Put>
tracer_status get(const tracer_event* event, tracer_field field, bool list, std::size_t index, tracer_field_type type,
                  Out* out, Put&& put) noexcept {
  if (out == nullptr) return TRACER_ERROR_INVALID_ARGUMENT;
  *out = Out{};
  if (event == nullptr) return TRACER_ERROR_INVALID_ARGUMENT;
  return guard(nullptr, [&]() -> tracer_status {
    FieldValue found;
    if (const tracer_status status = look_up(event, field, index, found); status != TRACER_OK) return status;
    const tracer_field_type own = type_in_c(found.type);
    const tracer_field_type element =
        own == TRACER_TYPE_STRING_LIST ? static_cast<tracer_field_type>(TRACER_TYPE_STRING) : own;
    if (element != type || found.list != list) return TRACER_WRONG_TYPE;
    if (list && found.absent_list) return TRACER_ABSENT;
    if (list && index >= found.count) return TRACER_OUT_OF_RANGE;
    if (!found.present) return TRACER_ABSENT;
    put(found);
    return TRACER_OK;
  });
}

tracer_status get_u64(const tracer_event* event, tracer_field field, bool list, size_t index, uint64_t* out) {
  return get(event, field, list, index, TRACER_TYPE_U64, out, [&](const FieldValue& found) { *out = found.number; });
}
tracer_status get_i64(const tracer_event* event, tracer_field field, bool list, size_t index, int64_t* out) {
  return get(event, field, list, index, TRACER_TYPE_I64, out,
             [&](const FieldValue& found) { *out = found.signed_number; });
}
tracer_status get_string(const tracer_event* event, tracer_field field, bool list, size_t index, tracer_string* out) {
  return get(event, field, list, index, TRACER_TYPE_STRING, out,
             [&](const FieldValue& found) { *out = string_of(*found.text); });
}

}  // namespace

tracer_event* tracer_event_copy(const tracer_event* event) {
  if (event == nullptr) return nullptr;
  tracer_event* copy = nullptr;
  static_cast<void>(guard_make(&copy, nullptr, [&] { return new_handle(event_of(*event)); }));
  return copy;
}

void tracer_event_free(tracer_event* event) { delete reinterpret_cast<Event*>(event); }

tracer_event_kind tracer_event_get_kind(const tracer_event* event) {
  return event == nullptr ? tracer_event_kind{TRACER_EVENT_NONE}
                          : static_cast<tracer_event_kind>(event_of(*event).kind());
}

uint64_t tracer_event_get_time_ns(const tracer_event* event) {
  return event == nullptr ? 0 : event_of(*event).time_ns();
}

size_t tracer_field_count(tracer_event_kind kind) {
  size_t count = 0;
  static_cast<void>(guard(nullptr, [&] { count = internal::leaves(static_cast<EventKind>(kind)).size(); }));
  return count;
}

tracer_status tracer_field_at(tracer_event_kind kind, size_t index, tracer_field_info* out) {
  return guard(nullptr, [&] {
    const std::span<const Leaf> all = internal::leaves(static_cast<EventKind>(kind));
    check_size(need(out, "out"), "out");
    if (index >= all.size()) throw Refusal{TRACER_OUT_OF_RANGE, "no such field"};
    give(out, info_of(kind, all[index]), "out");
  });
}

tracer_status tracer_field_find(tracer_event_kind kind, tracer_string name, tracer_field_info* out) {
  return guard(nullptr, [&] {
    check_size(need(out, "out"), "out");
    const std::string wanted = text_or_empty(name, "name");
    for (const Leaf& leaf : internal::leaves(static_cast<EventKind>(kind)))
      if (leaf.name == wanted) return give(out, info_of(kind, leaf), "out");
    throw Refusal{TRACER_NO_SUCH_FIELD, "no such field"};
  });
}

tracer_string tracer_field_value_name(tracer_field field, uint64_t value) {
  tracer_string name{"", 0};
  static_cast<void>(guard(nullptr, [&] {
    for (const Leaf& leaf : internal::leaves(static_cast<EventKind>(field >> 48)))
      if (leaf.id == field && leaf.names != nullptr)
        if (const std::string_view found = leaf.names(value); !found.empty()) name = string_of(found);
  }));
  return name;
}

tracer_status tracer_event_get_u64(const tracer_event* event, tracer_field field, uint64_t* out) {
  return get_u64(event, field, false, 0, out);
}
tracer_status tracer_event_get_i64(const tracer_event* event, tracer_field field, int64_t* out) {
  return get_i64(event, field, false, 0, out);
}
tracer_status tracer_event_get_bool(const tracer_event* event, tracer_field field, uint8_t* out) {
  return get(event, field, false, 0, TRACER_TYPE_BOOL, out,
             [&](const FieldValue& found) { *out = found.number != 0 ? 1 : 0; });
}
tracer_status tracer_event_get_string(const tracer_event* event, tracer_field field, tracer_string* out) {
  return get_string(event, field, false, 0, out);
}

tracer_status tracer_event_get_count(const tracer_event* event, tracer_field field, size_t* out) {
  if (out == nullptr) return TRACER_ERROR_INVALID_ARGUMENT;
  *out = 0;
  if (event == nullptr) return TRACER_ERROR_INVALID_ARGUMENT;
  return guard(nullptr, [&]() -> tracer_status {
    FieldValue found;
    if (const tracer_status status = look_up(event, field, 0, found); status != TRACER_OK) return status;
    if (!found.list) return TRACER_WRONG_TYPE;
    if (found.absent_list) return TRACER_ABSENT;
    *out = found.count;
    return TRACER_OK;
  });
}

tracer_status tracer_event_get_u64_at(const tracer_event* event, tracer_field field, size_t index, uint64_t* out) {
  return get_u64(event, field, true, index, out);
}
tracer_status tracer_event_get_i64_at(const tracer_event* event, tracer_field field, size_t index, int64_t* out) {
  return get_i64(event, field, true, index, out);
}
tracer_status tracer_event_get_string_at(const tracer_event* event, tracer_field field, size_t index,
                                         tracer_string* out) {
  return get_string(event, field, true, index, out);
}

tracer_status tracer_event_to_json(const tracer_event* event, tracer_text** out, tracer_error* error) {
  return guard_make(out, error, [&] { return new tracer_text{to_json(event_of(need(event, "event")))}; });
}
