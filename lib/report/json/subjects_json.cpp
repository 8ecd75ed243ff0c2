// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "report/json/json_parts.hpp"
#include "report/subjects.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostNeighborsInJson = 100;

void put_subject_process(JsonBuilder& json, const SubjectProcess& process) {
  put_process(json, *process.process);
  json.put("begin_ns", process.begin_ns);
  json.put(process.living ? "last_ns" : "end_ns", process.end_ns);
  json.put("exit_code", process.exit_code);
  json.put("exit_signal", process.exit_signal);
  json.put("failed", process.failed);
  json.put("cpu_ns", process.cpu_ns);
  json.put("cpu_before_ns", process.cpu_before_ns);
  json.put("peak_bytes", process.peak_bytes);
  json.put("read_bytes", process.read_bytes);
  json.put("written_bytes", process.written_bytes);
}

void put_scope(JsonBuilder& json, const SubjectScope& scope) {
  json.put("name", name_of_scope(scope));
  put_labels(json, *scope.context);
  json.put("begin_ns", scope.begin_ns);
  json.put(scope.finished ? "end_ns" : "last_ns", scope.end_ns);
  json.put("exit_code", scope.exit_code);
  json.put("exit_signal", scope.exit_signal);
  if (scope.finished) {
    json.put("processes", scope.processes);
    json.put("failed", scope.failed);
  }
  json.put("cpu_ns", scope.cpu_ns);
  json.put("memory_bytes", scope.memory_bytes);
  json.put("memory_bytes_at_most", scope.memory_at_most_bytes);
  json.put("read_bytes", scope.read_bytes);
  json.put("written_bytes", scope.written_bytes);
}

void put_processes(JsonBuilder& json, std::string_view name, const std::vector<SubjectProcess>& processes) {
  json.list(name, processes,
            [&](const SubjectProcess& each) { json.object([&] { put_subject_process(json, each); }); });
}

void put_neighbors(JsonBuilder& json, const Subjects& subjects, const Subject& subject) {
  std::vector<Neighbor> neighbors = subjects.neighbors_of(subject);
  if (neighbors.size() > kMostNeighborsInJson) neighbors.resize(kMostNeighborsInJson);
  json.list("neighbors", neighbors, [&](const Neighbor& each) {
    json.object([&] {
      put_scope(json, *each.scope);
      json.put("together_ns", each.together_ns);
    });
  });
  json.list("devices", subjects.devices_of(subject), [&](const BusyWhile& each) {
    json.object([&] {
      json.put("name", each.name);
      json.put("span_ns", each.span_ns);
      json.put("busy_ns", each.busy_ns);
      if (each.other == nullptr) return;
      json.put("task", name_of_scope(*each.other));
      json.put("task_key", each.other->context->task_key);
      json.put("task_bytes", each.other_bytes);
    });
  });
}

void put_path(JsonBuilder& json, const Subjects& subjects, const SubjectScope& run) {
  const auto path = subjects.path_of(run);
  put_path(json, path ? &*path : nullptr);
}

}  // namespace

std::string to_json(const Subjects& subjects, const Subject& subject) {
  std::string out;
  JsonBuilder json(out);
  json.object([&] {
    json.put("schema", 1);
    if (subject.scope != nullptr) {
      json.put("subject", std::string_view(subject.scope->is_run ? "run" : "task"));
      put_scope(json, *subject.scope);
      put_requested(json, subject.scope->requested);
    } else {
      json.put("subject", std::string_view("process"));
      put_labels(json, *subject.process->process->context);
      put_subject_process(json, *subject.process);
    }
    const ReportRow row = row_of_subject(subject);
    put_bound(json, row);
    json.put("disk_wait_device", disk_wait_device_of(subject));
    json.put("parallelism", row.parallelism);
    if (subject.scope != nullptr) {
      put_path(json, subjects, *subject.scope);
      put_processes(json, "largest", subject.scope->largest);
      put_processes(json, "longest", subject.scope->longest);
      put_processes(json, "failures", subject.scope->failures);
    }
    put_findings(json, subjects.findings_of(subject));
    put_neighbors(json, subjects, subject);
  });
  return out;
}

std::string to_json(const Subjects& subjects) {
  std::string out;
  JsonBuilder json(out);
  json.object([&] {
    json.put("schema", 1);
    put_findings(json, subjects.findings());
    json.list("runs", subjects.runs(), [&](const SubjectScope* run) {
      json.object([&] {
        put_scope(json, *run);
        put_path(json, subjects, *run);
      });
    });
  });
  return out;
}

}  // namespace tracer::internal
