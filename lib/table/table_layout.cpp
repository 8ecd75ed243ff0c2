// SPDX-License-Identifier: Apache-2.0
#include "table/table_layout.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include <tracer/error.hpp>

namespace tracer {
namespace internal {
namespace {

/// Events of this kind are rows.
struct SourceRule {
  EventKind kind;
  std::string_view own = {};  ///< The row is about this group: its fields go by their own names, before all others.
  bool adds = true;           ///< False: it fills columns that there are, and adds none.
  std::vector<std::string_view> without = {};  ///< Beginnings of names.
};

struct TableRule {
  Table table;
  std::string_view name;
  std::vector<SourceRule> sources = {};
  bool has_kind = false;
  std::string_view wall_begin = {};
  std::string_view wall_end = {};
};

std::vector<SourceRule> all_kinds() {
  std::vector<SourceRule> all;
  for (const EventKind kind : kKindNumbers)
    all.push_back({.kind = kind, .without = {"ledger.", "process_ledger.", "ended.", "program."}});
  return all;
}

const std::array<TableRule, 17>& rules() {
  using enum EventKind;
  // The last program of a process is the process's own; in samples `threads` are those alive; what a new program may do
  // is not of the one that ended.
  static const std::array<TableRule, 17> all = {{
      {.table = Table::kProcesses,
       .name = "processes",
       .sources = {{.kind = kProcessExit, .without = {"program.comm", "program.argv", "program.cwd"}},
                   {.kind = kProcessSample, .adds = false, .without = {"threads"}}},
       .wall_begin = "begin_ns",
       .wall_end = "end_ns"},
      {.table = Table::kPrograms,
       .name = "programs",
       .sources = {{.kind = kProcessExec, .own = "ended.", .without = {"cpus_allowed"}},
                   {.kind = kProcessExit, .own = "program.", .adds = false}},
       .wall_begin = "program_start_ns",
       .wall_end = "program_end_ns"},
      {.table = Table::kSamples,
       .name = "samples",
       .sources = {{.kind = kProcessSample}, {.kind = kToolSample}, {.kind = kCgroupSample}},
       .has_kind = true},
      {.table = Table::kTasks,
       .name = "tasks",
       .sources = {{.kind = kTaskFinish}},
       .wall_begin = "begin_ns",
       .wall_end = "end_ns"},
      {.table = Table::kRuns,
       .name = "runs",
       .sources = {{.kind = kRunFinish}},
       .wall_begin = "begin_ns",
       .wall_end = "end_ns"},
      {.table = Table::kEvents, .name = "events", .sources = all_kinds(), .has_kind = true},
      {.table = Table::kLosses, .name = "losses", .sources = {{.kind = kLoss}}},
      {.table = Table::kHosts, .name = "hosts"},
      {.table = Table::kFiles, .name = "files", .sources = {{.kind = kFileUse}}},
      {.table = Table::kConnections, .name = "connections", .sources = {{.kind = kConnection}}},
      {.table = Table::kContainers,
       .name = "containers",
       .sources = {{.kind = kContainerStart}, {.kind = kContainerFinish}},
       .has_kind = true},
      {.table = Table::kDevices, .name = "devices", .sources = {{.kind = kDeviceSample}}},
      {.table = Table::kFindings, .name = "findings", .sources = {{.kind = kFinding}}},
      {.table = Table::kSyscalls, .name = "syscalls", .sources = {{.kind = kSyscallUse}}},
      {.table = Table::kGpus, .name = "gpus", .sources = {{.kind = kGpuSample}}},
      {.table = Table::kHostSamples, .name = "host_samples", .sources = {{.kind = kHostSample}}},
      {.table = Table::kGpuUses, .name = "gpu_uses", .sources = {{.kind = kGpuUse}}},
  }};
  return all;
}

std::string column_name(std::string_view leaf, std::string_view own) {
  std::string name;
  if (!own.empty() && leaf.starts_with(own)) {
    leaf.remove_prefix(own.size());
    // start_ns is the identity of the process in all tables.
    if (leaf == "start_ns" || leaf == "end_ns") name = "program_";
  } else if (leaf.starts_with("context.")) {
    leaf.remove_prefix(std::string_view("context.").size());
  }
  name += leaf;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

unsigned levels_of(FieldId id) {
  unsigned levels = 0;
  while (levels < 6 && ((id >> (40 - 8 * levels)) & 0xff) != 0) ++levels;
  return levels;
}
/// Its first `levels` numbers, without the kind.
FieldId path_above(FieldId id, unsigned levels) {
  const FieldId path = id & 0xffff'ffff'ffff;
  return levels == 0 ? 0 : path & ~((FieldId{1} << (48 - 8 * levels)) - 1);
}

std::size_t column_with(std::span<const ColumnSpec> specs, FieldId path) {
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (specs[i].path == path) return i;
  return kNowhere;
}

/// Finds the column of what is at `id` in the sections of frames.
Origin origin_at(std::size_t place, FieldId id) {
  Origin origin;
  const auto specs = kKindSpecs[place];
  const unsigned levels = levels_of(id);
  for (unsigned above = 1; above < levels; ++above) {
    const std::size_t found = column_with(specs, path_above(id, above));
    if (found == kNowhere || specs[found].role != Role::kPart) continue;
    origin.part_column = found;
    origin.part = specs[found].part;
    origin.column = column_with(kPartSpecs[origin.part], path_above(id << (8 * above), levels - above));
    return origin;
  }
  origin.column = column_with(specs, path_above(id, levels));
  return origin;
}

Origin origin_of(std::size_t place, const Leaf& leaf) {
  Origin origin = origin_at(place, leaf.id);
  origin.initial = leaf.initial;
  origin.optional = leaf.nullable && leaf.present_with == 0;
  const unsigned levels = levels_of(leaf.present_with);
  if (levels != 0) {
    const FieldId group = path_above(leaf.present_with, levels);
    const auto specs = kKindSpecs[place];
    for (std::size_t i = 0; i < specs.size(); ++i)
      if (path_above(specs[i].path, levels) == group) origin.group_columns.push_back(i);
  }
  return origin;
}

class LayoutMaker {
 public:
  explicit LayoutMaker(const TableRule& rule) {
    layout_.table = rule.table;
    if (rule.has_kind) {
      layout_.kind_column = layout_.columns.size();
      layout_.columns.push_back({.name = "kind", .type = Type::kEnum, .names = &name_of<EventKind>});
    }
    for (const SourceRule& source : rule.sources) add_source(source);
    if (rule.sources.empty())
      for (const Leaf& leaf : host_leaves()) layout_.columns.push_back({leaf.name, leaf.type, leaf.names, leaf.unit});
    if (!rule.sources.empty()) {
      layout_.unix_time = place_of("time_ns");
      layout_.unix_column = insert_behind(layout_.unix_time, "time_unix_ns");
    }
    if (!rule.wall_end.empty()) {
      layout_.wall_column = insert_behind(place_of(rule.wall_end), "wall_ns");
      layout_.wall_begin = place_of(rule.wall_begin);
      layout_.wall_end = place_of(rule.wall_end);
    }
    finish();
  }
  TableLayout take() { return std::move(layout_); }

 private:
  void add_source(const SourceRule& rule) {
    const auto found = std::find(kKindNumbers.begin(), kKindNumbers.end(), rule.kind);
    layout_.sources.push_back({rule.kind, static_cast<std::size_t>(found - kKindNumbers.begin()), {}});
    layout_.sources.back().origins.resize(layout_.columns.size());
    const auto all = leaves(rule.kind);
    const auto is_own = [&rule](const Leaf& leaf) { return !rule.own.empty() && leaf.name.starts_with(rule.own); };
    // Of two fields with one name the row's own is meant.
    std::vector<std::string> own_names;
    for (const Leaf& leaf : all)
      if (is_own(leaf)) own_names.push_back(column_name(leaf.name, rule.own));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Leaf& leaf = all[i];
      const bool left_out = std::any_of(rule.without.begin(), rule.without.end(),
                                        [&leaf](std::string_view begin) { return leaf.name.starts_with(begin); });
      const std::string name = column_name(leaf.name, rule.own);
      const bool hidden = !is_own(leaf) && std::find(own_names.begin(), own_names.end(), name) != own_names.end();
      if (leaf.list) {
        i = add_list(all, i, rule, left_out || hidden);
      } else if (!left_out && !hidden) {
        Origin origin = origin_of(layout_.sources.back().place, leaf);
        const bool nullable = leaf.nullable || origin.in_context();
        put({.name = name, .type = leaf.type, .names = leaf.names, .unit = leaf.unit, .nullable = nullable},
            std::move(origin), rule.adds);
      }
    }
  }

  /// A list and its fields, which follow each other. Returns the last of these.
  std::size_t add_list(std::span<const Leaf> all, std::size_t first, const SourceRule& rule, bool left_out) {
    const std::string path = all[first].name.substr(0, all[first].name.rfind('.') + 1);
    const std::size_t place = layout_.sources.back().place;
    TableColumn column{.name = column_name(path.substr(0, path.size() - 1), rule.own)};
    Origin list = origin_at(place, path_above(all[first].id, levels_of(all[first].id) - 1));
    column.nullable = list.in_part();
    std::size_t last = first;
    for (std::size_t i = first; i < all.size() && all[i].name.starts_with(path); last = i++) {
      column.fields.push_back({.name = all[i].name.substr(path.size()),
                               .type = all[i].type,
                               .names = all[i].names,
                               .unit = all[i].unit,
                               .nullable = all[i].nullable});
      list.fields.push_back(origin_of(place, all[i]));
    }
    if (!left_out) put(std::move(column), std::move(list), rule.adds);
    return last;
  }

  void put(TableColumn column, Origin origin, bool adds) {
    auto& columns = layout_.columns;
    const auto same = [&column](const TableColumn& other) { return other.name == column.name; };
    std::size_t at = static_cast<std::size_t>(std::find_if(columns.begin(), columns.end(), same) - columns.begin());
    if (at == columns.size()) {
      if (!adds) return;
      columns.push_back(std::move(column));
      for (TableSource& source : layout_.sources) source.origins.resize(columns.size());
    } else {
      columns[at].nullable = columns[at].nullable || column.nullable;
    }
    layout_.sources.back().origins[at] = std::move(origin);
  }

  std::size_t place_of(std::string_view name) const {
    const auto is = [name](const TableColumn& column) { return column.name == name; };
    const auto found = std::find_if(layout_.columns.begin(), layout_.columns.end(), is);
    return static_cast<std::size_t>(found - layout_.columns.begin());
  }
  /// A column that no event has. Returns its place.
  std::size_t insert_behind(std::size_t column, std::string name) {
    const auto at = static_cast<std::ptrdiff_t>(column + 1);
    layout_.columns.insert(layout_.columns.begin() + at,
                           {.name = std::move(name), .type = Type::kU64, .unit = Unit::kNs, .nullable = true});
    for (TableSource& source : layout_.sources) source.origins.insert(source.origins.begin() + at, Origin());
    return column + 1;
  }

  /// What some kind does not have is null there.
  void finish() {
    for (std::size_t i = 0; i < layout_.columns.size(); ++i)
      for (const TableSource& source : layout_.sources)
        if (i != layout_.kind_column && source.origins[i].column == kNowhere) layout_.columns[i].nullable = true;
  }

  TableLayout layout_;
};

const TableRule& rule_of(Table table) {
  for (const TableRule& rule : rules())
    if (rule.table == table) return rule;
  throw Error({ErrorCode::kInvalidArgument, 0, "there is no such table", "use a value of tracer::Table", {}});
}

TableColumn as_signed(TableColumn column) {
  for (TableColumn& field : column.fields) field = as_signed(std::move(field));
  column.nullable = column.null_items = true;
  column.clamped = column.fields.empty() && (column.type == Type::kU64 || column.type == Type::kU32);
  if (column.clamped) column.type = Type::kI64;
  return column;
}

}  // namespace

TableLayout signed_part_of(const TableLayout& whole, std::span<const EventKind> kinds,
                           std::span<const std::string> columns) {
  const auto is_of = [](const auto& wanted, const auto& one) {
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), one) != wanted.end();
  };
  TableLayout part;
  part.table = whole.table;
  std::vector<const TableSource*> taken;
  for (const TableSource& source : whole.sources) {
    if (!is_of(kinds, source.kind)) continue;
    taken.push_back(&source);
    part.sources.push_back({source.kind, source.place, {}});
  }
  for (std::size_t i = 0; i < whole.columns.size(); ++i) {
    if (!is_of(columns, whole.columns[i].name)) continue;
    for (const auto place : {&TableLayout::kind_column, &TableLayout::unix_column, &TableLayout::unix_time,
                             &TableLayout::wall_column, &TableLayout::wall_begin, &TableLayout::wall_end})
      if (whole.*place == i) part.*place = part.columns.size();
    part.columns.push_back(as_signed(whole.columns[i]));
    for (std::size_t at = 0; at < taken.size(); ++at) part.sources[at].origins.push_back(taken[at]->origins[i]);
  }
  return part;
}

const TableLayout& layout_of(Table table) {
  static const auto all = [] {
    std::vector<TableLayout> made;
    for (const TableRule& rule : rules()) made.push_back(LayoutMaker(rule).take());
    return made;
  }();
  return all[static_cast<std::size_t>(&rule_of(table) - rules().data())];
}

}  // namespace internal

std::string_view to_string(Table table) noexcept {
  for (const internal::TableRule& rule : internal::rules())
    if (rule.table == table) return rule.name;
  return {};
}

std::optional<Table> table_from_name(std::string_view name) noexcept {
  for (const internal::TableRule& rule : internal::rules())
    if (rule.name == name) return rule.table;
  return std::nullopt;
}

}  // namespace tracer
