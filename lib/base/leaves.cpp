// SPDX-License-Identifier: Apache-2.0
#include "base/leaves.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include "base/event_schema.hpp"

namespace tracer::internal {
namespace {

/// Where a walk over types stands: the group whose fields come next.
struct Place {
  FieldId id = 0;
  unsigned level = 0;
  std::string prefix;
  std::string prefix_beside;  ///< Of a group that stands beside this one.
  bool nullable = false;
  bool dictionary = false;
  bool list = false;
  FieldId optional_group = 0;
};

template <class T>
std::uint64_t initial_of(const T& value) {
  if constexpr (std::is_enum_v<T> || std::integral<T>) {
    return static_cast<std::uint64_t>(value);
  } else {
    return 0;
  }
}

template <Described T>
void collect(std::vector<Leaf>& out, const Place& place) {
  each_field<T>([&](const auto& described) {
    using Member = std::remove_cvref_t<decltype(std::declval<T>().*described.member)>;
    const FieldId id = field_id_below(place.id, place.level, described.number);
    if constexpr (Described<Inner<Member>>) {
      Place below{id,
                  place.level + 1,
                  place.prefix,
                  place.prefix + beside_name(described.name),
                  place.nullable || kIsOptional<Member>,
                  place.dictionary || Part<Inner<Member>>,
                  place.list || kIsListOfStructs<Member>,
                  kIsOptional<Member> ? id : place.optional_group};
      if (described.shape == Shape::kBeside) below.prefix = place.prefix_beside;
      if (described.shape == Shape::kNested || described.shape == Shape::kBeside)
        below.prefix += std::string(described.name) + '.';
      collect<Inner<Member>>(out, below);
    } else {
      out.push_back({id, place.prefix + described.name, type_of<Member>(), names_of<Member>(), described.unit,
                     place.nullable || kIsOptional<Member>, place.dictionary, place.list,
                     kIsOptional<Member> ? 0 : place.optional_group, initial_of(T().*described.member)});
    }
  });
}

template <class T>
std::vector<Leaf> leaves_of(EventKind kind) {
  std::vector<Leaf> all;
  collect<T>(all, {.id = field_id_of_kind(static_cast<std::uint16_t>(kind)), .prefix = {}, .prefix_beside = {}});
  return all;
}

struct KindLeaves {
  EventKind kind;
  std::vector<Leaf> leaves;
};

template <class... E>
std::array<KindLeaves, sizeof...(E)> all_leaves(TypeList<E...>) {
  return {KindLeaves{E::kKind, leaves_of<E>(E::kKind)}...};
}

}  // namespace

std::span<const Leaf> leaves(EventKind kind) {
  static const auto all = all_leaves(EventTypes());
  for (const KindLeaves& each : all)
    if (each.kind == kind) return each.leaves;
  return {};
}

std::span<const Leaf> host_leaves() {
  static const auto all = leaves_of<HostInfo>(EventKind::kNone);
  return all;
}

std::string_view to_string(Type type) noexcept {
  constexpr std::string_view kNames[] = {"bool", "i32", "i64", "u32", "u64", "enum", "key", "text", "texts"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string_view to_string(Unit unit) noexcept {
  constexpr std::string_view kNames[] = {"", "ns", "bytes", "count", "bytes/s"};
  return kNames[static_cast<std::size_t>(unit)];
}

}  // namespace tracer::internal
