// SPDX-License-Identifier: Apache-2.0
/// How the fields of a struct are described: each has a number that is fixed forever, a name, a member and a unit. The
/// descriptions of all structs are in event_schema.hpp; JSON, streams, sums and documentation follow from them.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tracer::internal {

enum class Unit : std::uint8_t { kNone, kNs, kBytes, kCount, kBytesPerS };

/// How a struct within a struct is shown in JSON.
enum class Shape : std::uint8_t {
  kValue,   ///< It is no struct.
  kNested,  ///< An object of its own.
  kFlat,    ///< Its fields stand among those around it: cpu_ns, not account.cpu_ns.
  kBeside,  ///< An object of its own, beside the object that it is in: context and provenance, after and
            ///< after_provenance.
  kBrief,   ///< Flat, and only what a Program is known by: exe and tool.
};

template <class T, class M>
struct Field {
  std::uint8_t number;
  const char* name;
  M T::*member;
  Unit unit;
  Shape shape;
};

// Makers, as clang 14 deduces no arguments for aggregates.
template <class T, class M>
constexpr Field<T, M> field(std::uint8_t number, const char* name, M T::*member, Unit unit = Unit::kNone) {
  return {number, name, member, unit, Shape::kValue};
}
template <class T, class M>
constexpr Field<T, M> group(std::uint8_t number, const char* name, M T::*member, Shape shape) {
  return {number, name, member, Unit::kNone, shape};
}

/// Specialized once for each described struct: `fields`, a tuple; `kName` for events, such as "process_exit"; `kPart`
/// for what events share, which streams keep in dictionaries.
template <class T>
struct Schema;
template <class T>
concept Described = requires {
  Schema<T>::fields;
};
template <class T>
concept Part = Described<T> && requires {
  Schema<T>::kPart;
};

/// The type within an optional, a shared pointer or a list.
template <class T>
struct InnerOf {
  using Type = T;
};
template <class T>
struct InnerOf<std::optional<T>> {
  using Type = T;
};
template <class T>
struct InnerOf<std::shared_ptr<const T>> {
  using Type = T;
};
template <Described T>
struct InnerOf<std::vector<T>> {
  using Type = T;
};
template <class T>
using Inner = typename InnerOf<std::remove_cvref_t<T>>::Type;

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsShared = false;
template <class T>
inline constexpr bool kIsShared<std::shared_ptr<const T>> = true;
template <class T>
inline constexpr bool kIsListOfStructs = false;
template <Described T>
inline constexpr bool kIsListOfStructs<std::vector<T>> = true;

/// The struct of a group, or null where it is absent.
template <Described T>
const T* group_of(const T& value) {
  return &value;
}
template <Described T>
const T* group_of(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}
template <Described T>
const T* group_of(const std::shared_ptr<const T>& value) {
  return value.get();
}

/// What stands in front of the name of a group that is beside this one.
inline std::string beside_name(std::string_view group) {
  return group == "context" ? std::string() : std::string(group) + '_';
}

/// Calls f(field) for each field of T, in the order of their description.
template <Described T, class F>
constexpr void each_field(F&& f) {
  std::apply([&](const auto&... one) { (f(one), ...); }, Schema<T>::fields);
}

/// Numbers are 1 to 255 and unique.
template <Described T>
consteval bool has_sound_numbers() {
  std::array<bool, 256> seen{};
  bool sound = true;
  each_field<T>([&](const auto& described) {
    sound = sound && described.number != 0 && !seen[described.number];
    seen[described.number] = true;
  });
  return sound;
}

/// A field of an event, for readers in any language: the kind in the top 16 bits, then the numbers on the way to it, 8
/// bits each, from the top. process_exit / 9 / 19 / 4 is 0x0066'09'13'04'00'00.
using FieldId = std::uint64_t;

constexpr FieldId field_id_of_kind(std::uint16_t kind) { return static_cast<FieldId>(kind) << 48; }
constexpr FieldId field_id_below(FieldId id, unsigned level, std::uint8_t number) {
  return id | static_cast<FieldId>(number) << (40 - 8 * level);
}

}  // namespace tracer::internal
