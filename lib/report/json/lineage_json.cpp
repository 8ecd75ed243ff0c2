// SPDX-License-Identifier: Apache-2.0
#include "report/json_builder.hpp"
#include "report/lineage.hpp"

namespace tracer::internal {
namespace {

void put_keys(JsonBuilder& json, const LineageTask& task) {
  json.put("task_key", task.task_key);
  json.put("run_key", task.run_key);
}

}  // namespace

std::string to_json(const LineageGraph& lineage) {
  std::string out;
  JsonBuilder json(out);
  json.object([&] {
    json.put("schema", 1);
    json.list("tasks", lineage.tasks, [&](const LineageTask& task) {
      json.object([&] {
        put_keys(json, task);
        json.put("name", task.name);
        json.put("run", task.run);
        json.put("step", task.step);
        json.put("sample", task.sample);
        json.put("tool", task.tool);
      });
    });
    json.list("files", lineage.files, [&](const LineageFile& file) {
      json.object([&] {
        json.put("path", file.path);
        if (!file.other_paths.empty()) json.texts("other_paths", file.other_paths);
        json.put("version", file.version);
        json.put("versions", file.versions);
        json.put("role", std::string_view(to_string(file.role)));
        json.put("opens", file.opens);
        json.put("read_bytes", file.read_bytes);
        json.put("written_bytes", file.written_bytes);
        json.put("size_bytes", file.size_bytes);
        json.put("deleted", file.deleted);
        json.put("written_by_tasks", file.writers.size());
        json.put("read_by_tasks", file.readers.size());
        json.put("may_be_written_by_tasks", file.possible_writers.size());
        json.put("may_be_read_by_tasks", file.possible_readers.size());
      });
    });
    json.list("edges", lineage.edges, [&](const LineageEdge& edge) {
      json.object([&] {
        put_keys(json, lineage.tasks[edge.task]);
        json.put("task", edge.task);
        json.put("path", lineage.files[edge.file].path);
        json.put("file", edge.file);
        json.put("mode", std::string_view(to_string(edge.mode)));
        json.put("certain", edge.certain);
        if (!edge.from.empty()) json.put("from", [&] { json.put_list(edge.from); });
        if (!edge.may_from.empty()) json.put("may_from", [&] { json.put_list(edge.may_from); });
      });
    });
    json.put("folded_opens", lineage.folded_opens);
    json.put("left_out", lineage.left_out);
  });
  return out;
}

}  // namespace tracer::internal
