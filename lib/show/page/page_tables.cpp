// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "context/task_name.hpp"
#include "report/sums/summary_level.hpp"
#include "report/time_shares.hpp"
#include "show/page/page_sections.hpp"
#include "show/row_texts.hpp"
#include "show/time_bar.hpp"
#include "show/visible.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostBelowNode = 2000;
constexpr std::size_t kMostPageRows = 20000;

std::size_t length_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
}

PageRow page_row(const ReportRow& row, unsigned depth = 0, SummaryLevel level = SummaryLevel::kTool) {
  return {depth, level, &row, row.name};
}

/// Room for most names, and no more.
unsigned name_px(const std::vector<PageRow>& rows, bool tree) {
  std::size_t longest = 0;
  for (const PageRow& each : rows)
    longest = std::max(longest, 16 * (tree ? each.depth : 0) + 7 * std::min<std::size_t>(length_of(each.name), 60));
  return static_cast<unsigned>(std::min<std::size_t>(std::max<std::size_t>(180, longest + (tree ? 70 : 24)), 420));
}

/// As deep as it fits a screen or two.
unsigned open_depth(const std::vector<PageRow>& rows) {
  std::array<std::size_t, 6> counts{};
  for (const PageRow& each : rows) ++counts[std::min(each.depth, 4u)];
  unsigned deep = 0;
  std::size_t shown = counts[0];
  while (deep < 4 && shown + counts[deep + 1] <= 60) shown += counts[++deep];
  return deep;
}

/// Of a figure: what its texts need.
unsigned px_of(std::string_view figure, bool requested, bool lacking, bool bounded_above) {
  if (figure == "processes") return lacking ? 66 : 48;
  if (figure == "wall_ns") return lacking ? 80 : 66;
  if (figure == "cpu_ns") return 76;
  if (figure == "cpu_utilization") return requested ? 120 : 70;
  if (figure == "memory_bytes") return 96 + (requested ? 54 : 0) + (bounded_above ? 80 : 0);
  return figure == "failed" ? 50 : 84;
}

template <class T>
std::optional<double> sort_of(const ReportRow& row, const RowFigure<T>& figure) {
  const auto found = known(row, figure);
  const auto& value = found.exact ? found.exact : found.at_least ? found.at_least : found.at_most;
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

/// From the top down; of very many below one node, those that come first and those with failures.
void flatten(const std::vector<ReportNode>& nodes, unsigned depth, std::vector<PageRow>& rows, std::size_t& left_out) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const ReportNode& node = nodes[i];
    if (i >= kMostBelowNode && node.row.failed.value == 0 && depth > 0 && nodes.size() > kMostPageRows) {
      ++left_out;
      continue;
    }
    rows.push_back(page_row(node.row, depth, node.level));
    flatten(node.below, depth + 1, rows, left_out);
  }
}

/// All tasks, by their steps and what they are called within these.
void list_tasks(const std::vector<ReportNode>& nodes, std::vector<PageRow>& rows) {
  for (const ReportNode& node : nodes) {
    list_tasks(node.below, rows);
    if (node.level != SummaryLevel::kTask) continue;
    rows.push_back(page_row(node.row));
    rows.back().name = name_in_step(node.row.task.step.value_or(""), node.row.name);
  }
}

}  // namespace

std::vector<PageTable> tables_of(const Report& report) {
  std::vector<PageTable> tables;
  PageTable tree{"tree", {}, ""};
  std::size_t left_out = 0;
  flatten(report.tree, 0, tree.rows, left_out);
  if (left_out != 0) tree.note = fmt::format("{} tasks are left out.", left_out);
  if (!tree.rows.empty()) tables.push_back(std::move(tree));
  const auto add = [&tables](const char* name, std::vector<PageRow> rows) {
    if (rows.empty()) return;
    const std::size_t all = rows.size();
    rows.resize(std::min(all, kMostPageRows));
    tables.push_back({name, rows, rows.size() == all ? "" : fmt::format("The first {} of {}.", rows.size(), all)});
  };
  const auto rows_of = [](const std::vector<ReportRow>& from) {
    std::vector<PageRow> rows;
    for (const ReportRow& row : from) rows.push_back(page_row(row));
    return rows;
  };
  std::vector<PageRow> tasks;
  list_tasks(report.tree, tasks);
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const PageRow& a, const PageRow& b) { return a.row->wall_ns > b.row->wall_ns; });
  add("tools", rows_of(report.tools));
  add("steps", rows_of(report.steps));
  add("tasks", std::move(tasks));
  add("samples", rows_of(report.samples));
  return tables;
}

void write_table(JsonBuilder& json, const PageTable& table) {
  const std::string& name = table.name;
  const std::vector<PageRow>& rows = table.rows;
  const bool tree = name == "tree";
  const auto any = [&rows](auto has) { return std::any_of(rows.begin(), rows.end(), has); };
  const bool requested = any([](const PageRow& each) { return each.row->requested != Requested{}; });
  const bool bounded_above = any([](const PageRow& each) { return each.row->memory_at_most_bytes.has_value(); });
  const bool lacking = any([](const PageRow& each) { return each.row->processes_bound != Bound::kExact; });
  const unsigned name_width = name_px(rows, tree);
  std::vector<PageColumn> columns;
  columns.emplace_back(growing_column(tree ? "run, step, task, tool" : name.substr(0, name.size() - 1), "name",
                                      name_width, "1.8", true));
  for (const PageRow& each : rows) columns.back().add(visible(each.name, kMostNameLength));
  each_row_figure([&](const auto& figure) {
    const std::string_view known_as = figure.name;
    if (known_as == "memory_bytes") {
      columns.emplace_back(growing_column("where time went", "where", 270, "2"));
      for (const PageRow& each : rows) {
        const std::string submitted = submitted_text(each.row->submitted);
        columns.back().add(submitted.empty() ? main_causes(each.row->time, 2) : submitted, parts_of(each.row->time));
      }
    }
    if (figure.head == nullptr) return;
    columns.emplace_back(fixed_column(figure.head, "number", px_of(known_as, requested, lacking, bounded_above), false,
                                      known_as == "failed"));
    for (const PageRow& each : rows) columns.back().add(cell_text(*each.row, figure), sort_of(*each.row, figure));
  });
  // Last, as the bar says it in other words, and not all columns may fit.
  columns.emplace_back(fixed_column("bound by", "text", 132, true));
  for (const PageRow& each : rows) columns.back().add(bound_text(*each.row));
  json.object([&] {
    json.put("name", name);
    json.put("title", name);
    json.put("rows", rows.size());
    json.put("width", width_of_all(columns));
    json.put("name_px", name_width);
    json.put("note", table.note);
    write_columns(json, columns);
    json.list("failed", rows, [&](const PageRow& each) { json.put_value(each.row->failed.value > 0 ? 1 : 0); });
    if (!tree) return;
    json.list("depth", rows, [&](const PageRow& each) { json.put_value(each.depth); });
    json.list("level", rows, [&](const PageRow& each) { json.put_value(std::string_view(to_string(each.level))); });
    json.put("open_depth", open_depth(rows));
  });
}

}  // namespace tracer::internal
