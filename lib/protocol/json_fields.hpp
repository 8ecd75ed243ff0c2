// SPDX-License-Identifier: Apache-2.0
/// Described structs as JSON objects, both ways. Only the files of this folder include this.
#pragma once

#include <concepts>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <tracer/error.hpp>

#include "base/event_schema.hpp"
#include "stream/column_layout.hpp"
#include "base/schema.hpp"

namespace tracer::internal {

using Json = nlohmann::json;
/// Keeps the order of its keys. Only for writing: it searches them one by one.
using JsonOut = nlohmann::ordered_json;

/// Throws Error(kServiceRefused): no JSON object, objects and lists too deep in each other, or too many values.
/// `from_client`: texts and names with NUL are refused, too, because paths and names end there for the kernel.
Json object_from(std::string_view line, bool from_client = false);

[[noreturn]] inline void refuse_line(std::string what, std::string fix = "see docs/protocol.md") {
  throw Error({ErrorCode::kServiceRefused, 0, std::move(what), std::move(fix), {}});
}
[[noreturn]] inline void refuse_value(std::string_view name, std::string_view wanted) {
  refuse_line(fmt::format("\"{}\" is not {}", name, wanted));
}

template <Described T>
void read_fields(const Json& object, T& value);
template <Described T>
void read_value(const Json& json, std::string_view name, T& value);
template <class T>
void read_value(const Json& json, std::string_view name, std::optional<T>& value);

inline void read_value(const Json& json, std::string_view name, bool& value) {
  if (!json.is_boolean()) refuse_value(name, "true or false");
  value = json.get<bool>();
}
template <std::integral T>
void read_value(const Json& json, std::string_view name, T& value) {
  if (json.is_number_unsigned()) {
    const auto number = json.get<std::uint64_t>();
    if (std::in_range<T>(number)) return static_cast<void>(value = static_cast<T>(number));
  } else if (json.is_number_integer()) {
    const auto number = json.get<std::int64_t>();
    if (std::in_range<T>(number)) return static_cast<void>(value = static_cast<T>(number));
  }
  refuse_value(
      name, fmt::format("a whole number from {} to {}", std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}
inline void read_value(const Json& json, std::string_view name, std::string& value) {
  if (!json.is_string()) refuse_value(name, "a text");
  value = json.get_ref<const std::string&>();
}
inline void read_value(const Json& json, std::string_view name, Key& value) {
  std::string digits;
  read_value(json, name, digits);
  const auto key = key_from(digits);
  if (!key) refuse_value(name, "a key of 16 hexadecimal digits");
  value = *key;
}
inline void read_value(const Json& json, std::string_view name, Provenance& value) {
  std::string text;
  read_value(json, name, text);
  for (const Provenance each : {Provenance::kInferred, Provenance::kCgroup, Provenance::kEngineRule, Provenance::kLabel,
                                Provenance::kAnnounced})
    if (text == to_string(each)) return static_cast<void>(value = each);
  refuse_value(name, "how a field is known");
}
inline void read_value(const Json& json, std::string_view name, EventKind& value) {
  std::string text;
  read_value(json, name, text);
  for (const EventKind each : kKindNumbers)
    if (text == to_string(each)) return static_cast<void>(value = each);
  refuse_value(name, "a kind of event");
}
/// {"name":"value"}, or as events have it.
inline void read_value(const Json& json, std::string_view name, std::vector<Label>& value) {
  value.clear();
  if (json.is_object()) {
    for (const auto& [label, text] : json.items()) {
      value.push_back({label, {}});
      read_value(text, label, value.back().value);
    }
    return;
  }
  if (!json.is_array()) refuse_value(name, "an object of names and values");
  for (const Json& each : json) {
    if (!each.is_object()) refuse_value(name, "an object of names and values");
    read_fields(each, value.emplace_back());
  }
}
template <class T>
requires(std::same_as<T, std::string> || std::same_as<T, EventKind> ||
         Described<T>) void read_value(const Json& json, std::string_view name, std::vector<T>& value) {
  if (!json.is_array()) refuse_value(name, "a list");
  value.clear();
  for (const Json& each : json) read_value(each, name, value.emplace_back());
}
template <Described T>
void read_value(const Json& json, std::string_view name, T& value) {
  if (!json.is_object()) refuse_value(name, "an object");
  read_fields(json, value);
}
template <class T>
void read_value(const Json& json, std::string_view name, std::optional<T>& value) {
  value.reset();
  if (!json.is_null()) read_value(json, name, value.emplace());
}
template <Described T>
void read_value(const Json& json, std::string_view name, std::shared_ptr<const T>& value) {
  auto made = std::make_shared<T>();
  read_value(json, name, *made);
  value = std::move(made);
}

/// Absent and null stay as they are.
template <class T>
void read_key(const Json& object, std::string_view name, T& value) {
  const auto found = object.find(name);
  if (found != object.end() && !found->is_null()) read_value(*found, name, value);
}
template <class T>
void require_key(const Json& object, std::string_view name, T& value) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) refuse_line(fmt::format("\"{}\" is missing", name));
  read_value(*found, name, value);
}

/// What stands beside a nested group is read into it.
template <class T>
void read_beside(const Json& object, std::string_view group, T& value) {
  each_field<T>([&](const auto& described) {
    auto& member = value.*described.member;
    if constexpr (Described<std::remove_cvref_t<decltype(member)>>)
      if (described.shape == Shape::kBeside) read_key(object, beside_name(group) + described.name, member);
  });
}

template <Described T>
void read_fields(const Json& object, T& value) {
  each_field<T>([&](const auto& described) {
    auto& member = value.*described.member;
    using Member = std::remove_cvref_t<decltype(member)>;
    if constexpr (!Described<Inner<Member>> || kIsListOfStructs<Member>) {
      read_key(object, described.name, member);
    } else if (described.shape == Shape::kNested) {
      if constexpr (kIsShared<Member>) {
        auto made = std::make_shared<Inner<Member>>();
        read_key(object, described.name, *made);
        read_beside(object, described.name, *made);
        member = std::move(made);
      } else {
        read_key(object, described.name, member);
        if constexpr (Described<Member>) read_beside(object, described.name, member);
      }
    } else if (described.shape != Shape::kBeside) {
      if constexpr (kIsShared<Member>) {
        auto made = std::make_shared<Inner<Member>>();
        read_fields(object, *made);
        member = std::move(made);
      } else if constexpr (Described<Member>) {
        read_fields(object, member);
      }
    }
  });
}

/// An object with the fields that are known.
template <Described T>
JsonOut object_of(const T& value);
template <Described T>
void write_value(JsonOut& json, const T& value);

inline void write_value(JsonOut& json, bool value) { json = value; }
template <std::integral T>
void write_value(JsonOut& json, T value) {
  json = value;
}
inline void write_value(JsonOut& json, const std::string& value) { json = value; }
inline void write_value(JsonOut& json, const std::vector<std::string>& value) { json = value; }
inline void write_value(JsonOut& json, Key value) { json = to_string(value); }
inline void write_value(JsonOut& json, Provenance value) { json = to_string(value); }
inline void write_value(JsonOut& json, EventKind value) { json = to_string(value); }
inline void write_value(JsonOut& json, const std::vector<Label>& value) {
  json = JsonOut::object();
  for (const Label& label : value) json[label.name] = label.value;
}
template <Described T>
void write_value(JsonOut& json, const std::vector<T>& value) {
  json = JsonOut::array();
  for (const T& each : value) json.push_back(object_of(each));
}
template <Described T>
void write_value(JsonOut& json, const T& value) {
  json = object_of(value);
}

template <class T>
void put_key(JsonOut& object, std::string_view name, const T& value) {
  if constexpr (kIsOptional<T>) {
    if (value) put_key(object, name, *value);
  } else {
    write_value(object[std::string(name)], value);
  }
}

/// For structs that hold no shared part: those travel in events.
template <Described T>
JsonOut object_of(const T& value) {
  JsonOut object = JsonOut::object();
  each_field<T>([&](const auto& described) {
    const auto& member = value.*described.member;
    using Member = std::remove_cvref_t<decltype(member)>;
    if constexpr (kIsShared<Member>) {
      static_assert(!kIsShared<Member>, "a shared part has no place here");
    } else if constexpr (Described<Member>) {
      if (described.shape == Shape::kFlat) {
        object.update(object_of(member));
      } else if (const JsonOut inner = object_of(member); !inner.empty()) {
        object[described.name] = inner;
      }
    } else {
      put_key(object, described.name, member);
    }
  });
  return object;
}

}  // namespace tracer::internal
