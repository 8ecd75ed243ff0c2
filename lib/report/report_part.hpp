// SPDX-License-Identifier: Apache-2.0
/// How a part of a report is described.
#pragma once

#include <functional>
#include <tuple>
#include <type_traits>
#include <vector>

namespace tracer::internal {

template <class Get>
struct PartKey {
  const char* name;
  Get get;             ///< A member, or a function of the part. No value: absent.
  const char* unit;    ///< "": none.
  const char* absent;  ///< When. "never"; of texts in lists: when there are none.
  const char* meaning;
};

// A maker, as clang 14 deduces no arguments for aggregates.
template <class Get>
constexpr PartKey<Get> part_key(const char* name, Get get, const char* unit, const char* absent, const char* meaning) {
  return {name, get, unit, absent, meaning};
}

/// Specialized once for each: `kName`, its key in JSON and its section in docs/report.md; `kClass` and `kWhat` of
/// Python; `keys`, a tuple.
template <class T>
struct ReportPart;
template <class T>
concept IsReportPart = requires {
  ReportPart<T>::keys;
};

template <class T, class Get>
using PartValue = std::remove_cvref_t<std::invoke_result_t<Get, const T&>>;

template <class T>
inline constexpr bool kIsListOfParts = false;
template <IsReportPart T>
inline constexpr bool kIsListOfParts<std::vector<T>> = true;

/// Of a part, or a list of them.
template <class T>
inline constexpr const char* kPartName = ReportPart<T>::kName;
template <class T>
inline constexpr const char* kPartName<std::vector<T>> = ReportPart<T>::kName;

/// Calls `visit` with each description, in the order in which they are shown.
template <IsReportPart T, class Visit>
void each_part_key(const Visit& visit) {
  std::apply([&visit](const auto&... keys) { (visit(keys), ...); }, ReportPart<T>::keys);
}

}  // namespace tracer::internal
