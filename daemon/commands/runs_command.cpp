// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/json_text.hpp"
#include "base/quantities.hpp"
#include "commands/commands.hpp"
#include "context/task_name.hpp"
#include "files/past.hpp"
#include "show/grid.hpp"
#include "show/visible.hpp"

namespace tracerd {
namespace {

using tracer::internal::Align;
using tracer::internal::PastRun;

constexpr std::size_t kMostRunName = 40;

std::string how_it_ended(const PastRun& run) {
  if (!run.finished) return "not finished";
  if (!run.failed) return "unknown";
  return *run.failed ? "failed" : "ok";
}

std::string time_taken(const PastRun& run) {
  return tracer::internal::format_duration(run.end_ns - std::min(run.end_ns, run.begin_ns));
}

std::string shown_name(const PastRun& run) {
  const tracer::Context& context = *run.context;
  return context.run ? *context.run : context.run_id ? *context.run_id : to_string(run.run_key);
}

std::string table_of_runs(const std::vector<ListedRun>& runs) {
  std::set<std::uint32_t> owners;
  for (const ListedRun& each : runs) owners.insert(each.run.owner_uid);
  tracer::internal::Grid grid({Align::kLeft, Align::kLeft, Align::kLeft, Align::kRight, Align::kLeft, Align::kRight,
                               Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  const bool with_owner = owners.size() > 1;
  grid.add(
      {"run", "pipeline", "began", "took", "", "ok", "failed", "queued", "findings", "size", with_owner ? "user" : ""});
  for (const auto& [run, file_bytes] : runs)
    grid.add(
        {tracer::internal::visible(shown_name(run), kMostRunName),
         tracer::internal::visible(run.context->pipeline.value_or(run.context->engine.value_or("-")), kMostRunName),
         fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(static_cast<std::time_t>(run.begin_ns / 1'000'000'000))),
         time_taken(run), how_it_ended(run), std::to_string(run.tasks_ok), std::to_string(run.tasks_failed),
         std::to_string(run.tasks_queued), std::to_string(run.findings), tracer::internal::format_bytes(file_bytes),
         with_owner ? std::to_string(run.owner_uid) : ""});
  return grid.text();
}

void append_known_text(std::string& json, const char* key, const std::optional<std::string>& value) {
  if (!value) return;
  json += fmt::format(",\"{}\":", key);
  tracer::internal::append_json_text(json, *value);
}

std::string json_of_runs(const std::vector<ListedRun>& runs) {
  std::string json = "{\"runs\":[";
  for (const auto& [run, file_bytes] : runs) {
    if (json.back() == '}') json += ',';
    json += fmt::format("{{\"run_key\":\"{}\"", to_string(run.run_key));
    append_known_text(json, "name", tracer::internal::run_name(*run.context));
    append_known_text(json, "pipeline", run.context->pipeline);
    append_known_text(json, "run", run.context->run);
    append_known_text(json, "engine", run.context->engine);
    append_known_text(json, "run_id", run.context->run_id);
    json += fmt::format(",\"owner_uid\":{},\"begin_unix_ns\":{},\"end_unix_ns\":{},\"finished\":{}", run.owner_uid,
                        run.begin_ns, run.end_ns, run.finished);
    if (run.failed) json += fmt::format(",\"failed\":{}", *run.failed);
    json += fmt::format(
        ",\"tasks\":{{\"ok\":{},\"failed\":{},\"queued\":{},\"running\":{},\"unknown\":{}}},\"findings\":{},"
        "\"file_bytes\":{}}}",
        run.tasks_ok, run.tasks_failed, run.tasks_queued, run.tasks_running, run.tasks_unknown, run.findings,
        file_bytes);
  }
  return json + "]}\n";
}

}  // namespace

int runs_command(const Options& options) {
  const std::vector<ListedRun> runs = past_runs();
  const std::string text = options.as_json ? json_of_runs(runs)
                           : runs.empty()  ? "The service has recorded no run of yours by now.\n"
                                           : table_of_runs(runs);
  write_text(STDOUT_FILENO, text, "standard output", [] { return true; });
  return 0;
}

}  // namespace tracerd
