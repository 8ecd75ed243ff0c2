// SPDX-License-Identifier: Apache-2.0
/// Which structs are Python classes of their own, and what their slots are.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include <tracer/statistics.hpp>

#include "base/event_schema.hpp"

namespace tracer::internal {

template <>
struct Schema<ContextTotals> {
  static constexpr auto fields = std::tuple(group(1, "context", &ContextTotals::context, Shape::kNested),
                                            field(2, "living", &ContextTotals::living, Unit::kCount),
                                            field(3, "ended", &ContextTotals::ended, Unit::kCount),
                                            field(4, "failed", &ContextTotals::failed, Unit::kCount),
                                            field(6, "contexts", &ContextTotals::contexts, Unit::kCount),
                                            group(5, "account", &ContextTotals::account, Shape::kFlat));
};

}  // namespace tracer::internal

namespace tracer::python {

using internal::Described;
using internal::Shape;
using internal::TypeList;

/// All structs that are objects of their own, parts before what they are in.
using PartTypes =
    TypeList<Label, Overruled, ContextProvenance, Context, Requested, FailedProcess, AwaitedTask, ExpectedTasks, Ledger,
             ProcessLedger, TaskLedger, ProgramAccount, Progress, KindCount, Evidence, HostInfo, ContextTotals>;

/// An object of its own; the fields of others stand among those around them.
template <class T, class List>
inline constexpr bool kIsIn = false;
template <class T, class... Types>
inline constexpr bool kIsIn<T, TypeList<Types...>> = (std::is_same_v<T, Types> || ...);
template <class T>
inline constexpr bool kIsPart = kIsIn<T, PartTypes>;

/// Of an event: process_exit is a ProcessExit.
template <class T>
std::string class_name() {
  if constexpr (std::is_same_v<T, Label>)
    return "Label";
  else if constexpr (std::is_same_v<T, Overruled>)
    return "Overruled";
  else if constexpr (std::is_same_v<T, ContextProvenance>)
    return "Provenance";
  else if constexpr (std::is_same_v<T, Context>)
    return "Context";
  else if constexpr (std::is_same_v<T, Requested>)
    return "Requested";
  else if constexpr (std::is_same_v<T, FailedProcess>)
    return "FailedProcess";
  else if constexpr (std::is_same_v<T, AwaitedTask>)
    return "AwaitedTask";
  else if constexpr (std::is_same_v<T, ExpectedTasks>)
    return "ExpectedTasks";
  else if constexpr (std::is_same_v<T, Ledger>)
    return "Ledger";
  else if constexpr (std::is_same_v<T, ProcessLedger>)
    return "ProcessLedger";
  else if constexpr (std::is_same_v<T, TaskLedger>)
    return "TaskLedger";
  else if constexpr (std::is_same_v<T, Evidence>)
    return "Evidence";
  else if constexpr (std::is_same_v<T, ProgramAccount>)
    return "ProgramAccount";
  else if constexpr (std::is_same_v<T, Progress>)
    return "Progress";
  else if constexpr (std::is_same_v<T, TaskLedger>)
    return "TaskLedger";
  else if constexpr (std::is_same_v<T, KindCount>)
    return "KindCount";
  else if constexpr (std::is_same_v<T, Evidence>)
    return "Evidence";
  else if constexpr (std::is_same_v<T, HostInfo>)
    return "Host";
  else if constexpr (std::is_same_v<T, ContextTotals>)
    return "ContextTotals";
  else {
    static_assert(EventType<T>, "a struct without a class");
    std::string name;
    bool begins = true;
    for (const char c : internal::Schema<T>::kName) {
      if (c != '_') name += begins ? static_cast<char>(c - 'a' + 'A') : c;
      begins = c == '_';
    }
    return name;
  }
}

/// Those that say nothing are None: what belongs to no run has no empty object.
template <class T>
constexpr bool kNoneIfEmpty = std::is_same_v<T, Context> || std::is_same_v<T, ContextProvenance>;

constexpr bool is_brief(std::string_view name) { return name == "exe" || name == "tool"; }

/// Walks the slots of T in their order. `visitor.leaf(name, member, unit)` for a value; `visitor.part(name, group,
/// optional)` for an object or None, of a pointer that may be null; `visitor.shared(group, fill)` for what events
/// share: `fill` walks its slots; `visitor.list(name, vector)`. `value` may be null: then all are None.
template <Described T, class Visitor>
void walk(const T* value, Visitor& visitor, Shape shape = Shape::kFlat) {
  internal::each_field<T>([&](const auto& described) {
    if (shape == Shape::kBrief && !is_brief(described.name)) return;
    using M = std::remove_cvref_t<decltype(std::declval<T>().*described.member)>;
    const M* member = value != nullptr ? &(value->*described.member) : nullptr;
    if constexpr (internal::kIsListOfStructs<M>) {
      visitor.list(described.name, member);
    } else if constexpr (Described<internal::Inner<M>>) {
      using U = internal::Inner<M>;
      if (described.shape == Shape::kBeside) return;
      const U* inner = member != nullptr ? internal::group_of(*member) : nullptr;
      if constexpr (!kIsPart<U>) {
        const auto fill = [&] { walk(inner, visitor, described.shape); };
        if constexpr (internal::Part<U>) {
          if (described.shape == Shape::kFlat) return visitor.shared(inner, fill);
        }
        fill();
      } else {
        visitor.part(described.name, inner, internal::kIsOptional<M>);
        if constexpr (std::is_same_v<U, Context>)
          visitor.part(internal::beside_name(described.name) + "provenance",
                       inner != nullptr ? &inner->provenance : nullptr, true);
      }
    } else {
      visitor.leaf(described.name, member, described.unit);
    }
  });
}

}  // namespace tracer::python
