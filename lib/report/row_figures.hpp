// SPDX-License-Identifier: Apache-2.0
/// The figures of a row of a report, each described once. JSON, C, Python, the columns of text and page, and the table
/// in docs/report.md follow from it. A figure in no list here is shown nowhere.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>

#include <tracer/report.hpp>

#include "base/schema.hpp"

namespace tracer::internal {

/// How the figure of two rows together is found.
enum class Together : std::uint8_t {
  kSum,
  kApart,  ///< add_row() knows, or whoever makes the report.
};

template <class T>
struct RowFigure {
  const char* name;
  T ReportRow::*member;
  Unit unit;
  Together together;
  const char* head;     ///< Of its column. Null: text and page have none.
  const char* meaning;  ///< For docs/report.md.
  /// An upper bound that stands beside a lower one.
  std::optional<std::uint64_t> ReportRow::*at_most = nullptr;
  /// The figure whose bound it has. Null: its own.
  std::optional<Figure> ReportRow::*bounded_as = nullptr;
  Bound ReportRow::*bound = nullptr;  ///< Of a plain number. Null: it is exact.
  bool zero_is_unknown = false;
};

/// What is known of a figure: one of these, or both bounds.
template <class N>
struct KnownFigure {
  std::optional<N> exact = {};
  std::optional<N> at_least = {};
  std::optional<N> at_most = {};

  bool any() const noexcept { return exact || at_least || at_most; }
  void set(N value, Bound bound) {
    (bound == Bound::kExact ? exact : bound == Bound::kAtLeast ? at_least : at_most) = value;
  }
};

template <class T>
using NumberOf = std::conditional_t<std::is_same_v<T, std::optional<double>>, double, std::uint64_t>;

template <class T>
KnownFigure<NumberOf<T>> known(const ReportRow& row, const RowFigure<T>& figure) {
  KnownFigure<NumberOf<T>> found;
  const T& value = row.*figure.member;
  if constexpr (std::is_same_v<T, Figure>) {
    found.set(value.value, value.bound);
  } else if constexpr (std::is_same_v<T, std::optional<Figure>>) {
    if (value) found.set(value->value, value->bound);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    if (value != 0 || !figure.zero_is_unknown)
      found.set(value, figure.bound == nullptr ? Bound::kExact : row.*figure.bound);
  } else if (value) {
    const bool bounded = figure.bounded_as != nullptr && (row.*figure.bounded_as).has_value();
    found.set(*value, bounded ? (row.*figure.bounded_as)->bound : Bound::kExact);
  }
  if constexpr (!std::is_same_v<NumberOf<T>, double>)
    if (figure.at_most != nullptr && (row.*figure.at_most)) found.at_most = row.*figure.at_most;
  return found;
}

// Makers, as clang 14 deduces no arguments for aggregates.
template <class T>
constexpr RowFigure<T> row_figure(const char* name, T ReportRow::*member, Unit unit, Together together,
                                  const char* head, const char* meaning) {
  return {name, member, unit, together, head, meaning};
}
template <class T>
constexpr RowFigure<T> with_at_most(RowFigure<T> figure, std::optional<std::uint64_t> ReportRow::*at_most) {
  figure.at_most = at_most;
  return figure;
}
template <class T>
constexpr RowFigure<T> bounded_as(RowFigure<T> figure, std::optional<Figure> ReportRow::*other) {
  figure.bounded_as = other;
  return figure;
}
constexpr RowFigure<std::uint64_t> bounded_by(RowFigure<std::uint64_t> figure, Bound ReportRow::*bound) {
  figure.bound = bound;
  return figure;
}
template <class T>
constexpr RowFigure<T> unknown_at_zero(RowFigure<T> figure) {
  figure.zero_is_unknown = true;
  return figure;
}

inline constexpr auto kRowFigures = std::tuple{
    bounded_by(row_figure("processes", &ReportRow::processes, Unit::kCount, Together::kSum, "procs",
                          "processes that ended or live in it; of a tool: that executed it"),
               &ReportRow::processes_bound),
    row_figure("tasks", &ReportRow::tasks, Unit::kCount, Together::kApart, nullptr,
               "tasks of the run or step; absent in other rows"),
    unknown_at_zero(row_figure("queued", &ReportRow::queued, Unit::kCount, Together::kApart, nullptr,
                               "tasks that were submitted, and wait; 1: it does")),
    unknown_at_zero(row_figure("elsewhere", &ReportRow::elsewhere, Unit::kCount, Together::kApart, nullptr,
                               "tasks that run or ran, but not here")),
    unknown_at_zero(row_figure("withdrawn", &ReportRow::withdrawn, Unit::kCount, Together::kApart, nullptr,
                               "tasks that their engine withdrew before they ran, such as cached ones")),
    unknown_at_zero(row_figure("expired", &ReportRow::expired, Unit::kCount, Together::kApart, nullptr,
                               "tasks that waited longer than their submissions hold")),
    unknown_at_zero(row_figure("queued_ns", &ReportRow::queued_ns, Unit::kNs, Together::kApart, nullptr,
                               "how long tasks waited from their submission until they started, added up")),
    row_figure("living", &ReportRow::living, Unit::kCount, Together::kSum, nullptr,
               "processes that have not ended: their figures are those so far"),
    bounded_by(unknown_at_zero(row_figure("wall_ns", &ReportRow::wall_ns, Unit::kNs, Together::kApart, "wall",
                                          "elapsed time, from first start to last end")),
               &ReportRow::wall_bound),
    bounded_by(unknown_at_zero(row_figure("lives_ns", &ReportRow::lives_ns, Unit::kNs, Together::kSum, nullptr,
                                          "how long each of its processes lived, added up")),
               &ReportRow::processes_bound),
    unknown_at_zero(row_figure("first_start_ns", &ReportRow::first_start_ns, Unit::kNs, Together::kApart, nullptr,
                               "when the first process that was seen of it started, by the boot clock")),
    unknown_at_zero(row_figure("last_end_ns", &ReportRow::last_end_ns, Unit::kNs, Together::kApart, nullptr,
                               "when the last process that was seen of it ended, or was sampled last")),
    row_figure("cpu_ns", &ReportRow::cpu_ns, Unit::kNs, Together::kSum, "CPU", "CPU time"),
    bounded_as(row_figure("cpu_utilization", &ReportRow::cpu_utilization, Unit::kNone, Together::kApart, "CPU/wall",
                          "cpu_ns / wall_ns: 2.5 is two and a half CPUs; absent where wall_ns is a lower bound"),
               &ReportRow::cpu_ns),
    row_figure("concurrency", &ReportRow::concurrency, Unit::kNone, Together::kApart, nullptr,
               "threads of a process that ran at once, on average, while any ran"),
    row_figure(
        "parallelism", &ReportRow::parallelism, Unit::kNone, Together::kApart, nullptr,
        "of runs, steps and tasks: CPUs that it used at once, on average, while anything of it ran; absent where "
        "that time is not known to 5 % of the wall time"),
    with_at_most(row_figure("memory_bytes", &ReportRow::memory_bytes, Unit::kBytes, Together::kApart, "memory",
                            "the most that its processes held together; of a step: its largest task"),
                 &ReportRow::memory_at_most_bytes),
    row_figure("read_bytes", &ReportRow::read_bytes, Unit::kBytes, Together::kSum, "read",
               "bytes read: by calls, or fetched from storage where that is more"),
    row_figure("written_bytes", &ReportRow::written_bytes, Unit::kBytes, Together::kSum, "written",
               "bytes written: by calls, or made dirty for storage where that is more"),
    row_figure("network_received_bytes", &ReportRow::network_received_bytes, Unit::kBytes, Together::kSum, nullptr,
               "bytes received from other machines"),
    row_figure("network_sent_bytes", &ReportRow::network_sent_bytes, Unit::kBytes, Together::kSum, nullptr,
               "bytes sent to other machines"),
    row_figure("failed", &ReportRow::failed, Unit::kCount, Together::kSum, "failed", "failures that began in it"),
};

/// Calls `visit` with each description, in the order in which they are shown.
template <class Visit>
void each_row_figure(const Visit& visit) {
  std::apply([&visit](const auto&... figures) { (visit(figures), ...); }, kRowFigures);
}

}  // namespace tracer::internal
