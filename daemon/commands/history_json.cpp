// SPDX-License-Identifier: Apache-2.0
#include "commands/history_json.hpp"

#include <optional>
#include <string>

#include <tracer/history.hpp>

#include "report/json_builder.hpp"

namespace tracerd {
using namespace tracer::internal;
namespace {

void put_usual(JsonBuilder& json, const char* name, const std::optional<tracer::Usual>& usual) {
  if (!usual) return;
  json.object(name, [&] {
    json.put("median", usual->median);
    json.put("p90", usual->p90);
    json.put("spread", usual->spread);
    json.put("most", usual->most);
    json.put("n", usual->n);
    json.put("basis", std::string(to_string(usual->basis)));
  });
}

}  // namespace

std::string history_json(const HistoryAnswer& answer, const std::filesystem::path& file) {
  std::string text;
  JsonBuilder json(text);
  json.object([&] {
    json.put("file", file.string());
    json.list("kinds", answer.kinds, [&](const UsualKind& each) {
      const tracer::HistoryKind& kind = each.kind;
      json.object([&] {
        json.put("pipeline", kind.kind.pipeline);
        json.put("step", kind.kind.step);
        json.put("engine", kind.kind.engine);
        json.put("script", kind.kind.script ? std::optional(to_string(tracer::Key{*kind.kind.script})) : std::nullopt);
        json.put("owner_uid", kind.kind.owner_uid);
        json.put("tasks", kind.tasks);
        json.put("succeeded", kind.succeeded);
        json.put("last_time_s", kind.last_time_s);
        put_usual(json, "wall_ns", each.usual.wall_ns);
        put_usual(json, "cpu_ns", each.usual.cpu_ns);
        put_usual(json, "peak_bytes", each.usual.peak_bytes);
        put_usual(json, "read_bytes", each.usual.read_bytes);
        put_usual(json, "written_bytes", each.usual.written_bytes);
      });
    });
    json.list("runs", answer.runs, [&](const tracer::HistoryRun& run) {
      json.object([&] {
        json.put("run_key", run.run_key);
        json.put("pipeline", run.pipeline);
        json.put("owner_uid", run.owner_uid);
        json.put("end_time_s", run.end_time_s);
        json.put("wall_ns", run.wall_ns);
        json.put("tasks", run.tasks);
        json.put("outcome", run.outcome);
      });
    });
  });
  return text;
}

}  // namespace tracerd
