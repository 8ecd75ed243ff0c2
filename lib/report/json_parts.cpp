// SPDX-License-Identifier: Apache-2.0
#include "report/json_parts.hpp"

#include "base/process_schema.hpp"

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
  if (requested == Requested{}) return;
  json.object("requested", [&] {
    json.put("millicpus", requested.millicpus);
    json.put("memory_bytes", requested.memory_bytes);
    json.put("time_ns", requested.time_ns);
    json.put("container", requested.container);
    json.put("tag", requested.tag);
  });
}

void put_time(JsonBuilder& json, const std::vector<TimeShare>& time) {
  if (time.empty()) return;
  json.list("time", time, [&](const TimeShare& each) {
    json.object([&] {
      json.put("cause", to_string(each.cause));
      json.put("time_ns", each.time_ns);
      json.put("share", each.share);
    });
  });
}

void put_bound(JsonBuilder& json, const ReportRow& row) {
  put_time(json, row.time);
  if (row.task_ledger)
    json.object("task_ledger", [&] {
      each_field<TaskLedger>([&](const auto& field) { json.put(field.name, (*row.task_ledger).*field.member); });
    });
  if (!row.waits_for.empty())
    json.list("waits_for", row.waits_for, [&](const AwaitedTask& each) {
      json.object([&] {
        json.put("task_key", each.task_key);
        if (!each.name.empty()) json.put("name", each.name);
        json.put("wait_ns", each.wait_ns);
      });
    });
  if (row.bound_by.empty()) return;
  json.put("bound_by", row.bound_by);
  json.put("bound_share", row.bound_share);
}

void put_path(JsonBuilder& json, const CriticalPath* path) {
  if (path == nullptr) return;
  json.put("without_task_ns", path->without_task_ns);
  json.object("critical_path", [&] {
    json.put("basis", std::string_view(path->by_files ? "files" : "longest task"));
    json.put("length_ns_at_least", path->at_least_ns);
    json.put("length_ns_at_most", path->at_most_ns);
    json.list("tasks", path->tasks, [&](const PathTask& task) {
      json.object([&] {
        json.put("task_key", task.task_key);
        json.put("name", task.name);
        json.put("begin_ns", task.begin_ns);
        json.put(task.finished ? "end_ns" : "last_ns", task.end_ns);
      });
    });
  });
}

void put_finding(JsonBuilder& json, const Finding& finding) {
  json.object([&] {
    json.put("finding_key", finding.finding_key);
    json.put("code", finding.code);
    json.put("severity", finding.severity);
    json.put("confidence", finding.confidence);
    json.put("subject", finding.subject);
    json.put("state", finding.state);
    put_labels(json, *finding.context);
    json.put("pid", finding.pid);
    json.put("start_ns", finding.start_ns);
    json.put("tool", finding.tool);
    json.put("time_ns", finding.time_ns);
    json.put("first_ns", finding.first_ns);
    json.put("last_ns", finding.last_ns);
    json.put("count", finding.count);
    json.put("text", finding.text);
    if (!finding.advice.empty()) json.put("advice", finding.advice);
    json.list("evidence", finding.evidence, [&](const Evidence& each) {
      json.object([&] {
        json.put("name", each.name);
        json.put("value", each.value);
        json.put("unit", each.unit);
        json.put("text", each.text);
      });
    });
  });
}

}  // namespace tracer::internal
