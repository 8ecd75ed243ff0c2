// SPDX-License-Identifier: Apache-2.0
#include "report/json/json_parts.hpp"

#include "base/event_schema.hpp"
#include "report/json/put_part.hpp"
#include "report/report_parts.hpp"

namespace tracer::internal {

void put_labels(JsonBuilder& json, const Context& context) {
  json.put("run_key", context.run_key);
  json.put("task_key", context.task_key);
  json.put("pipeline", context.pipeline);
  json.put("run", context.run);
  json.put("run_id", context.run_id);
  json.put("step", context.step);
  json.put("sample", context.sample);
  json.put("task", context.task);
  json.put("task_id", context.task_id);
  json.put("attempt", context.attempt);
  json.put("engine", context.engine);
  if (!context.labels.empty())
    json.object("labels", [&] {
      for (const Label& label : context.labels) json.put(label.name, label.value);
    });
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

void put_bound(JsonBuilder& json, const ReportRow& row) {
  if (!row.time.empty()) put_part_of(json, row.time);
  if (row.task_ledger) put_key(json, "task_ledger", *row.task_ledger);
  if (!row.waits_for.empty()) put_key(json, "waits_for", row.waits_for);
  if (row.bound_by.empty()) return;
  json.put("bound_by", row.bound_by);
  json.put("bound_share", row.bound_share);
}

void put_path(JsonBuilder& json, const CriticalPath* path) {
  if (path == nullptr) return;
  json.put("without_task_ns", path->without_task_ns);
  put_part_of(json, *path);
}

void put_findings(JsonBuilder& json, const std::vector<Finding>& findings) { put_key(json, "findings", findings); }

}  // namespace tracer::internal
