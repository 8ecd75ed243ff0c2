// SPDX-License-Identifier: Apache-2.0
/// The fields of events as a flat list, for readers that work by number and name: stream headers, tables, bindings.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

#include "base/schema.hpp"

namespace tracer::internal {

enum class Type : std::uint8_t { kBool, kI32, kI64, kU32, kU64, kEnum, kKey, kText, kTexts };

/// An enumeration whose values have names: to_string() is empty for others.
template <class T>
concept NamedEnum = std::is_enum_v<T> && requires(T value) {
  { to_string(value) } -> std::same_as<std::string_view>;
};

/// The name of a value of one enumeration; empty: it has none.
using NameOf = std::string_view (*)(std::uint64_t value) noexcept;

template <NamedEnum T>
std::string_view name_of(std::uint64_t value) noexcept {
  using Number = std::underlying_type_t<T>;
  return std::in_range<Number>(value) ? to_string(static_cast<T>(value)) : std::string_view();
}

/// Of a member, or of what its optional holds.
template <class M>
constexpr Type type_of() {
  using T = Inner<M>;
  if constexpr (std::same_as<T, bool>) {
    return Type::kBool;
  } else if constexpr (std::same_as<T, std::int32_t>) {
    return Type::kI32;
  } else if constexpr (std::same_as<T, std::int64_t>) {
    return Type::kI64;
  } else if constexpr (std::same_as<T, std::uint32_t>) {
    return Type::kU32;
  } else if constexpr (std::same_as<T, std::uint64_t>) {
    return Type::kU64;
  } else if constexpr (std::same_as<T, Key>) {
    return Type::kKey;
  } else if constexpr (NamedEnum<T>) {
    return Type::kEnum;
  } else if constexpr (std::same_as<T, std::string>) {
    return Type::kText;
  } else {
    static_assert(std::same_as<T, std::vector<std::string>>, "a type that streams can't hold");
    return Type::kTexts;
  }
}

/// Of an enumeration; null for other types.
template <class M>
constexpr NameOf names_of() {
  if constexpr (type_of<M>() == Type::kEnum) {
    return &name_of<Inner<M>>;
  } else {
    return nullptr;
  }
}

/// A field that is no struct itself.
struct Leaf {
  FieldId id = 0;
  std::string name;  ///< As in JSON, with the names of nested objects in front: "program.cpu_ns".
  Type type = Type::kU64;
  NameOf names = nullptr;  ///< Of an enumeration.
  Unit unit = Unit::kNone;
  bool nullable = false;    ///< It, or a group that it is in, can be absent.
  bool dictionary = false;  ///< In a part that events share.
  bool list = false;        ///< In a list of structs: any number of values in one event.
  /// Of a field that is never absent by itself: the optional group that it is there with; 0 if it is in none.
  FieldId present_with = 0;
  std::uint64_t initial = 0;  ///< What such a field is where a stream has no value: as its struct begins.
};

/// In the order of their description. Empty for an unknown kind.
std::span<const Leaf> leaves(EventKind kind);

/// The same for HostInfo; of no kind.
std::span<const Leaf> host_leaves();

std::string_view to_string(Type type) noexcept;  ///< "u64", "text" …
std::string_view to_string(Unit unit) noexcept;  ///< "ns", "bytes" …; "" for none.

}  // namespace tracer::internal
