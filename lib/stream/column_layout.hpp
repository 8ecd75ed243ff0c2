// SPDX-License-Identifier: Apache-2.0
/// Which columns a struct has in a stream. Known when compiled: an encoder and a decoder reach each by its place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/event_schema.hpp"
#include "base/leaves.hpp"

namespace tracer::internal {

/// Bounds of a frame. A writer stays below them, and a reader refuses more before it makes room for it.
inline constexpr std::size_t kMaxRows = 32768;          ///< Of events, and of each part.
inline constexpr std::size_t kMaxItems = 128u << 10;    ///< Of the lists in one column; texts.
inline constexpr std::size_t kMaxTextBytes = 4u << 20;  ///< Of all texts, each as often as a column refers to it.
/// Of all events of a frame, as Event::charge_bytes() counts them: few stored bytes may refer to a large part often.
inline constexpr std::size_t kMaxChargeBytes = 64u << 20;
/// Events, rows of parts, texts and items of lists, by stored bytes: each takes room in many columns.
inline constexpr std::size_t kThingsPerByte = 1;
inline constexpr std::size_t kMaxSections = 256;
inline constexpr std::size_t kMaxColumns = 1024;  ///< Of one section.

/// The structs that streams keep in dictionaries. Their numbers in a stream are their places here, from 1, forever.
using PartTypes = TypeList<Program, Cgroup, Context>;

template <class T, class... Types>
constexpr std::size_t place_in(TypeList<Types...>) {
  std::size_t place = 0;
  std::size_t at = 0;
  ((std::is_same_v<T, Types> ? void(place = at) : void(), ++at), ...);
  return place;
}
template <class... Types>
constexpr std::size_t size_of(TypeList<Types...>) {
  return sizeof...(Types);
}
template <class T>
inline constexpr std::size_t kPlaceOfPart = place_in<T>(PartTypes());
template <class T>
inline constexpr std::size_t kPlaceOfKind = place_in<T>(EventTypes());
inline constexpr std::size_t kParts = size_of(PartTypes());
inline constexpr std::size_t kKinds = size_of(EventTypes());

enum class Role : std::uint8_t {
  kValue,
  kPart,  ///< The number of a row of a part's section.
  kList,  ///< How many structs; their fields have columns of their own behind it.
};

struct ColumnSpec {
  FieldId path = 0;  ///< A field's id, without its kind.
  std::uint8_t depth = 0;
  Role role = Role::kValue;
  Type type = Type::kU64;
  NameOf names = nullptr;  ///< Of an enumeration.
  std::uint8_t part = 0;   ///< Its place in PartTypes.
  std::int16_t list = -1;  ///< The column of the list that it is in.
};

template <Described T>
constexpr std::size_t column_count();

template <class M>
constexpr std::size_t columns_of_member() {
  if constexpr (Part<Inner<M>>) {
    return 1;
  } else if constexpr (kIsListOfStructs<M>) {
    return 1 + column_count<Inner<M>>();
  } else if constexpr (Described<Inner<M>>) {
    return column_count<Inner<M>>();
  } else {
    return 1;
  }
}

template <class T, class M>
constexpr std::size_t columns_of(const Field<T, M>&) {
  return columns_of_member<M>();
}

template <Described T>
constexpr std::size_t column_count() {
  return std::apply([](const auto&... one) { return (std::size_t{0} + ... + columns_of(one)); }, Schema<T>::fields);
}

/// True if a struct of it can be told from an absent one: some field of it is always there.
template <Described T>
constexpr bool shows_when_present() {
  bool shows = false;
  each_field<T>([&]<class M>(const Field<T, M>&) { shows = shows || !(kIsOptional<M> || Described<Inner<M>>); });
  return shows;
}

template <std::size_t kCount>
struct SpecList {
  std::array<ColumnSpec, kCount> specs{};
  std::size_t size = 0;

  template <Described T>
  constexpr void add(FieldId above, std::uint8_t level, std::int16_t list) {
    each_field<T>([&]<class M>(const Field<T, M>& described) {
      ColumnSpec spec;
      spec.path = field_id_below(above, level, described.number);
      spec.depth = static_cast<std::uint8_t>(level + 1);
      spec.list = list;
      if constexpr (Part<Inner<M>>) {
        spec.role = Role::kPart;
        spec.part = static_cast<std::uint8_t>(kPlaceOfPart<Inner<M>>);
        specs[size++] = spec;
      } else if constexpr (kIsListOfStructs<M>) {
        spec.role = Role::kList;
        specs[size] = spec;
        const auto own = static_cast<std::int16_t>(size++);
        add<Inner<M>>(spec.path, spec.depth, own);
      } else if constexpr (Described<Inner<M>>) {
        static_assert(!kIsOptional<M> || shows_when_present<Inner<M>>());
        add<Inner<M>>(spec.path, spec.depth, list);
      } else {
        spec.type = type_of<M>();
        spec.names = names_of<M>();
        specs[size++] = spec;
      }
    });
  }
};

template <Described T>
constexpr auto column_specs() {
  SpecList<column_count<T>()> list;
  list.template add<T>(0, 0, -1);
  return list.specs;
}
template <Described T>
inline constexpr auto kColumnSpecs = column_specs<T>();

template <class... T>
constexpr std::array<std::span<const ColumnSpec>, sizeof...(T)> specs_of(TypeList<T...>) {
  return {std::span<const ColumnSpec>(kColumnSpecs<T>)...};
}
inline constexpr auto kKindSpecs = specs_of(EventTypes());
inline constexpr auto kPartSpecs = specs_of(PartTypes());

template <class... E>
constexpr std::array<EventKind, sizeof...(E)> kinds_of(TypeList<E...>) {
  return {E::kKind...};
}
inline constexpr auto kKindNumbers = kinds_of(EventTypes());

}  // namespace tracer::internal
