// SPDX-License-Identifier: Apache-2.0
/// Writes what is described as JSON: parts of a report, and parts of events. What is not known is left out, and an
/// empty text is not known.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <tracer/context.hpp>
#include <tracer/process.hpp>

#include "base/schema.hpp"
#include "report/json/json_parts.hpp"
#include "report/json_builder.hpp"
#include "report/report_part.hpp"

namespace tracer::internal {

template <Described T>
void put_fields(JsonBuilder& json, const T& value);
template <IsReportPart T>
void put_part(JsonBuilder& json, const T& part);

template <class V>
void put_key(JsonBuilder& json, const char* name, const V& value) {
  if constexpr (std::is_same_v<V, Process>) {
    put_process(json, value);
  } else if constexpr (std::is_same_v<V, Context>) {
    put_labels(json, value);
  } else if constexpr (std::is_same_v<V, std::shared_ptr<const Context>>) {
    put_labels(json, *value);
  } else if constexpr (std::is_same_v<V, std::string>) {
    if (!value.empty()) json.put(name, value);
  } else if constexpr (std::is_same_v<V, std::vector<std::string>>) {
    if (!value.empty()) json.texts(name, value);
  } else if constexpr (std::is_same_v<V, std::map<std::string, std::uint64_t>>) {
    json.object(name, [&] {
      for (const auto& each : value) json.put(each.first, each.second);
    });
  } else if constexpr (IsReportPart<V>) {
    json.put(name, [&] { put_part(json, value); });
  } else if constexpr (kIsListOfParts<V>) {
    json.list(name, value, [&json](const auto& each) { put_part(json, each); });
  } else if constexpr (Described<V>) {
    json.put(name, [&] { put_fields(json, value); });
  } else if constexpr (kIsListOfStructs<V>) {
    json.list(name, value, [&json](const auto& each) { put_fields(json, each); });
  } else {
    json.put(name, value);
  }
}

/// A whole object, by the schema of events.
template <Described T>
void put_fields(JsonBuilder& json, const T& value) {
  json.object([&] { each_field<T>([&](const auto& field) { put_key(json, field.name, value.*field.member); }); });
}

/// Likewise, as it is described for reports.
template <IsReportPart T>
void put_part(JsonBuilder& json, const T& part) {
  json.object([&] { each_part_key<T>([&](const auto& key) { put_key(json, key.name, std::invoke(key.get, part)); }); });
}

/// By its name, or that of a list of them.
template <class T>
void put_part_of(JsonBuilder& json, const T& part) {
  put_key(json, kPartName<T>, part);
}

}  // namespace tracer::internal
