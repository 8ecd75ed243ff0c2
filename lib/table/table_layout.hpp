// SPDX-License-Identifier: Apache-2.0
/// Which columns a table has, and where the frames of a recording have their values: made from the schema of events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tracer/table.hpp>

#include "base/leaves.hpp"
#include "stream/column_layout.hpp"

namespace tracer::internal {

struct TableColumn {
  std::string name;
  Type type = Type::kU64;
  NameOf names = nullptr;  ///< Of an enumeration.
  Unit unit = Unit::kNone;
  bool nullable = false;
  std::vector<TableColumn> fields = {};  ///< Of a list of structs; `type` means nothing then.
  bool null_items = false;               ///< Of a list: by its schema, items may be null.
  bool clamped = false;                  ///< With kI64: what is more, as its values have no sign, becomes the most.
};

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

/// Where the rows of one kind of event have what is in a column.
struct Origin {
  std::size_t column = kNowhere;       ///< In the section of the kind, or in that of the part. kNowhere: null.
  std::size_t part_column = kNowhere;  ///< In the kind's section, what says which row of the part.
  std::size_t part = 0;
  bool optional = false;                        ///< Null without a value; else `initial`.
  std::vector<std::size_t> group_columns = {};  ///< Of the optional group that it is in: null where these all are.
  std::uint64_t initial = 0;
  std::vector<Origin> fields = {};  ///< Of a list of structs.

  bool in_part() const noexcept { return part_column != kNowhere; }
  bool in_context() const noexcept { return in_part() && part == kPlaceOfPart<Context>; }
};

struct TableSource {
  EventKind kind = EventKind::kNone;
  std::size_t place = 0;        ///< Of the kind.
  std::vector<Origin> origins;  ///< One a column.
};

struct TableLayout {
  Table table = Table::kProcesses;
  std::vector<TableColumn> columns;
  std::vector<TableSource> sources;
  std::size_t kind_column = kNowhere;  ///< Says which kind of event a row is from.
  // time_unix_ns is this one and the frame's offset.
  std::size_t unix_column = kNowhere;
  std::size_t unix_time = kNowhere;
  // wall_ns is the difference of two others.
  std::size_t wall_column = kNowhere;
  std::size_t wall_begin = kNowhere;
  std::size_t wall_end = kNowhere;
};

/// Made once. Throws Error(kInvalidArgument).
const TableLayout& layout_of(Table table);
/// Of a table: the rows of some kinds of events, and some columns; empty: all. As all engines read it: integers are
/// kI64, but kI32, and anything may be null.
TableLayout signed_part_of(const TableLayout& whole, std::span<const EventKind> kinds,
                           std::span<const std::string> columns);

}  // namespace tracer::internal
