// SPDX-License-Identifier: Apache-2.0
#include "report/json/json_parts.hpp"

#include "base/event_schema.hpp"
#include "report/json/put_part.hpp"
#include "report/report_parts.hpp"

namespace tracer::internal {

namespace {

using Names = std::set<std::string, std::less<>>;

bool wants(const Names& wanted, std::string_view name) { return wanted.empty() || wanted.contains(name); }

template <class Visit>
void each_label(const Visit& visit) {
  visit("run_key", &Context::run_key);
  visit("task_key", &Context::task_key);
  visit("pipeline", &Context::pipeline);
  visit("run", &Context::run);
  visit("run_id", &Context::run_id);
  visit("step", &Context::step);
  visit("sample", &Context::sample);
  visit("task", &Context::task);
  visit("task_id", &Context::task_id);
  visit("attempt", &Context::attempt);
  visit("engine", &Context::engine);
}

}  // namespace

void put_labels(JsonBuilder& json, const Context& context, const Names& wanted) {
  each_label([&](const char* name, const auto member) {
    if (wants(wanted, name)) json.put(name, context.*member);
  });
  if (context.labels.empty() || !wants(wanted, "labels")) return;
  json.object("labels", [&] {
    for (const Label& label : context.labels) json.put(label.name, label.value);
  });
}

void put_labels(JsonBuilder& json, const Context& context) { put_labels(json, context, {}); }

bool is_label(std::string_view name) {
  bool is_one = name == "labels";
  each_label([&](const char* other, auto) { is_one = is_one || name == other; });
  return is_one;
}

void put_process(JsonBuilder& json, const Process& process) {
  const Program& program = *process.program;
  json.put("tool", program.tool ? program.tool : program.comm);
  json.put("pid", process.pid);
  json.put("start_ns", process.start_ns);
  json.put("exe", program.exe);
  if (program.argv) json.texts("argv", *program.argv);
}

void put_requested(JsonBuilder& json, const Requested& requested) {
  if (requested != Requested{}) put_key(json, "requested", requested);
}

void put_submitted(JsonBuilder& json, const SubmittedTask& task, const Names& wanted) {
  if (task.submitted_ns != 0 && wants(wanted, "submitted_ns")) json.put("submitted_ns", task.submitted_ns);
  if (wants(wanted, "outcome")) json.put("outcome", task.outcome);
}

namespace {

void put_bound(JsonBuilder& json, const ReportRow& row, const Names& wanted) {
  if (!row.time.empty() && wants(wanted, "time")) put_part_of(json, row.time);
  if (row.task_ledger && wants(wanted, "task_ledger")) put_key(json, "task_ledger", *row.task_ledger);
  if (!row.waits_for.empty() && wants(wanted, "waits_for")) put_key(json, "waits_for", row.waits_for);
  if (row.bound_by.empty()) return;
  if (wants(wanted, "bound_by")) json.put("bound_by", row.bound_by);
  if (wants(wanted, "bound_share")) json.put("bound_share", row.bound_share);
}

}  // namespace

void put_bound(JsonBuilder& json, const ReportRow& row) { put_bound(json, row, {}); }

void put_row_figures(JsonBuilder& json, const ReportRow& row, const Names& wanted) {
  each_row_figure([&](const auto& figure) {
    if (wants(wanted, figure.name)) json.put(figure.name, known(row, figure));
  });
  put_bound(json, row, wanted);
  if (wants(wanted, "requested")) put_requested(json, row.requested);
}

bool is_row_figure(std::string_view name) {
  bool is_one = false;
  each_row_figure([&](const auto& figure) { is_one = is_one || name == figure.name; });
  for (const std::string_view other : {"time", "task_ledger", "waits_for", "bound_by", "bound_share", "requested"})
    is_one = is_one || name == other;
  return is_one;
}

void put_path(JsonBuilder& json, const CriticalPath* path) {
  if (path == nullptr) return;
  json.put("without_task_ns", path->without_task_ns);
  put_part_of(json, *path);
}

void put_findings(JsonBuilder& json, const std::vector<Finding>& findings) { put_key(json, "findings", findings); }

}  // namespace tracer::internal
