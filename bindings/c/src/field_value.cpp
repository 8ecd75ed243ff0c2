// SPDX-License-Identifier: Apache-2.0
#include "field_value.hpp"

#include <concepts>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/event_schema.hpp"

namespace tracer::c {
namespace {

using namespace tracer::internal;

struct Search {
  FieldId field;
  std::size_t index;
  FieldValue found = {};
};

constexpr std::uint8_t number_at(FieldId field, unsigned level) {
  return level > 5 ? std::uint8_t{0} : static_cast<std::uint8_t>(field >> (40 - 8 * level));
}

/// Nothing of the number is below this level.
constexpr bool ends_at(FieldId field, unsigned level) {
  return level > 5 || (field & ((FieldId{1} << (40 - 8 * level)) - 1)) == 0;
}

void set(FieldValue& found, const std::string& value) { found.text = &value; }
template <std::signed_integral T>
void set(FieldValue& found, T value) {
  found.signed_number = value;
}
template <class T>
requires std::unsigned_integral<T> || std::is_enum_v<T>
void set(FieldValue& found, T value) { found.number = static_cast<std::uint64_t>(value); }

void take_texts(Search& search, const std::vector<std::string>& texts) {
  search.found.count = texts.size();
  if (search.index >= texts.size()) return;
  search.found.text = &texts[search.index];
  search.found.present = true;
}

/// `member` is null where a struct that it is in is absent.
template <class M>
void take_leaf(Search& search, const M* member) {
  search.found.known = true;
  search.found.type = type_of<M>();
  const auto take = [&](const auto* value) {
    if constexpr (type_of<M>() == Type::kTexts) {
      search.found.list = true;
      search.found.absent_list = value == nullptr;
      if (value != nullptr) take_texts(search, *value);
    } else if (value != nullptr) {
      set(search.found, *value);
      search.found.present = true;
    }
  };
  if constexpr (kIsOptional<M>) {
    take(member != nullptr && member->has_value() ? &**member : nullptr);
  } else {
    take(member);
  }
}

template <Described T>
void look_in(Search& search, const T* value, unsigned level) {
  each_field<T>([&](const auto& described) {
    using Member = std::remove_cvref_t<decltype(std::declval<T>().*described.member)>;
    if (described.number != number_at(search.field, level)) return;
    const Member* member = value == nullptr ? nullptr : &(value->*described.member);
    if constexpr (kIsListOfStructs<Member>) {
      search.found.list = true;
      search.found.absent_list = member == nullptr;
      search.found.count = member == nullptr ? 0 : member->size();
      look_in<Inner<Member>>(search, search.index < search.found.count ? &(*member)[search.index] : nullptr, level + 1);
    } else if constexpr (Described<Inner<Member>>) {
      look_in<Inner<Member>>(search, member == nullptr ? nullptr : group_of(*member), level + 1);
    } else if (ends_at(search.field, level)) {
      take_leaf(search, member);
    }
  });
}

}  // namespace

FieldValue field_value(const Event& event, FieldId field, std::size_t index) {
  Search search{field, index};
  visit([&](const auto& body) { look_in(search, &body, 0); }, event);
  return search.found;
}

}  // namespace tracer::c
