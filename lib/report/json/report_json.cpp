// SPDX-License-Identifier: Apache-2.0
#include <tracer/report.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/json/json_parts.hpp"
#include "report/json/put_part.hpp"
#include "report/json_builder.hpp"
#include "report/report_parts.hpp"
#include "report/row_figures.hpp"
#include "report/sums/rows.hpp"
#include "report/waste.hpp"
#include "report/waste_cost.hpp"

namespace tracer {
namespace {

using internal::JsonBuilder;

using internal::put_findings;
using internal::put_labels;
using internal::put_part_of;
using internal::put_process;

void put_row(JsonBuilder& json, const ReportRow& row, const Context& labels, const CriticalPath* path = nullptr) {
  json.object([&] {
    json.put("name", row.name);
    put_labels(json, labels);
    if (row.process) put_process(json, *row.process);
    internal::each_row_figure([&](const auto& figure) { json.put(figure.name, internal::known(row, figure)); });
    internal::put_bound(json, row);
    internal::put_path(json, path);
    internal::put_requested(json, row.requested);
    if (row.requested_use) put_part_of(json, *row.requested_use);
    if (const std::string_view state = internal::state_of(row.submitted); !state.empty()) json.put("state", state);
    internal::put_submitted(json, row.submitted);
  });
}

void put_rows(JsonBuilder& json, std::string_view name, const std::vector<ReportRow>& rows) {
  json.list(name, rows, [&json](const ReportRow& row) { put_row(json, row, row.task); });
}

/// A row of the tree, with the labels of what it is.
struct LabeledRow {
  const ReportRow* row = nullptr;
  Context labels;
};

/// All of one level, each run's together.
void collect(const std::vector<ReportNode>& nodes, SummaryLevel level, const Context& above,
             std::vector<LabeledRow>& rows) {
  for (const ReportNode& node : nodes) {
    if (node.level >= SummaryLevel::kTool) continue;
    Context labels = node.row.task;
    if (node.level == SummaryLevel::kStep) {
      labels = above;
      labels.step = node.row.name;
    }
    if (node.level == level) rows.push_back({&node.row, labels});
    if (node.level < level) collect(node.below, level, labels, rows);
  }
}

const CriticalPath* path_of(const Report& report, const std::optional<Key>& run) {
  const auto path = std::find_if(report.critical_paths.begin(), report.critical_paths.end(),
                                 [&](const CriticalPath& each) { return each.run_key == run; });
  return path == report.critical_paths.end() ? nullptr : &*path;
}

void put_level(JsonBuilder& json, std::string_view name, const Report& report, SummaryLevel level) {
  std::vector<LabeledRow> rows;
  collect(report.tree, level, {}, rows);
  json.list(name, rows, [&](const LabeledRow& each) {
    put_row(json, *each.row, each.labels, level == SummaryLevel::kRun ? path_of(report, each.labels.run_key) : nullptr);
  });
}

void put_waste_cost(JsonBuilder& json, const internal::WasteCost& cost) {
  const auto put_known = [&json](std::string_view name, const std::string& text) {
    if (!text.empty()) json.put(name, text);
  };
  json.object("waste_cost", [&] {
    json.put(cost.at_least ? "amount_at_least" : "amount", cost.amount());
    json.put("currency", "USD");
    json.put("state", "estimate");
    json.put("basis", cost.price.basis);
    json.put("price_date", cost.price.date);
    put_known("instance_type", cost.price.instance_type);
    put_known("region", cost.price.region);
    put_known("model", cost.price.model);
    json.put("usd_per_hour", cost.price.usd_per_hour);
    json.put("usd_per_cpu_hour", cost.price.usd_per_cpu_hour);
    json.put("usd_per_gib_hour", cost.price.usd_per_gib_hour);
    json.put("text", cost.text());
  });
}

}  // namespace

std::string to_json(const Report& report) {
  std::string out;
  JsonBuilder json(out);
  json.object([&] {
    json.put("schema", 1);
    if (!report.verdict.empty()) json.put("verdict", report.verdict);
    put_part_of(json, report.completeness);
    put_findings(json, report.findings);
    json.put("totals", [&] { put_row(json, report.total, {}); });
    put_level(json, "runs", report, SummaryLevel::kRun);
    put_level(json, "steps", report, SummaryLevel::kStep);
    put_level(json, "tasks", report, SummaryLevel::kTask);
    put_rows(json, "samples", report.samples);
    put_rows(json, "tools", report.tools);
    put_rows(json, "processes", report.processes);
    put_part_of(json, report.failures);
    json.put("failures_seen", report.failures_seen);
    json.put("answers", report.answers);
    put_part_of(json, report.excused);
    put_part_of(json, report.survivors);
    put_part_of(json, report.pipelines);
    put_part_of(json, report.cgroups);
    put_part_of(json, report.files);
    put_part_of(json, report.file_systems);
    put_part_of(json, report.peers);
    put_part_of(json, report.devices);
    put_part_of(json, report.gpus);
    if (!report.instance_types.empty()) json.texts("instance_types", report.instance_types);
    const internal::Waste waste = internal::waste_of(report);
    if (waste.cpu_hours.tasks + waste.memory_gib_hours.tasks != 0) put_part_of(json, waste);
    if (const auto cost = internal::waste_cost_of(report)) put_waste_cost(json, *cost);
    put_part_of(json, report.cost);
  });
  return out;
}

}  // namespace tracer
