// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <tracer/error.hpp>
#include <tracer/history.hpp>

#include "commands/commands.hpp"
#include "commands/history_json.hpp"
#include "files/history_place.hpp"
#include "process/privileges.hpp"
#include "show/figures.hpp"
#include "show/grid.hpp"
#include "show/printable.hpp"
#include "show/visible.hpp"

namespace tracerd {
using namespace tracer::internal;
namespace {

constexpr std::size_t kMostName = 40;
constexpr std::size_t kMostRunsShown = 10;

bool is_wanted(const Options& options, const std::string& pipeline) {
  return !options.context.pipeline || *options.context.pipeline == pipeline;
}

std::vector<tracer::HistoryKind> kinds_of(const tracer::History& history, const Options& options) {
  std::vector<tracer::HistoryKind> kinds;
  for (const tracer::HistoryKind& kind : history.kinds())
    if (is_wanted(options, kind.kind.pipeline) && (!options.context.step || *options.context.step == kind.kind.step))
      kinds.push_back(kind);
  return kinds;
}

std::string text_of(const std::optional<tracer::Usual>& usual, std::string (*format)(std::uint64_t)) {
  return usual ? format(usual->median) : kUnknownFigure;
}

std::string day_of(std::uint64_t time_s) {
  return fmt::format("{:%Y-%m-%d}", fmt::localtime(static_cast<std::time_t>(time_s)));
}

/// In the history of a service with its owner.
std::string pipeline_of(const std::string& pipeline, const std::optional<std::uint32_t>& owner_uid) {
  const std::string name = pipeline.empty() ? kUnknownFigure : visible(pipeline, kMostName);
  return owner_uid ? fmt::format("{} (uid {})", name, *owner_uid) : name;
}

/// The newest first.
std::string runs_of(const std::vector<tracer::HistoryRun>& runs) {
  Grid grid({Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  grid.add({"newest runs", "pipeline", "ended", "took", "tasks", ""});
  for (std::size_t i = 0; i < std::min(runs.size(), kMostRunsShown); ++i)
    grid.add({visible("run:" + runs[i].run_key, kMostName), pipeline_of(runs[i].pipeline, runs[i].owner_uid),
              day_of(runs[i].end_time_s), format_duration(runs[i].wall_ns), std::to_string(runs[i].tasks),
              visible(runs[i].outcome, kMostName)});
  return runs.empty() ? std::string() : grid.text() + '\n';
}

std::string table_of(const tracer::History& history, const Options& options, const std::filesystem::path& file) {
  const auto kinds = kinds_of(history, options);
  Grid grid({Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
             Align::kRight, Align::kRight, Align::kRight});
  grid.add({"pipeline", "step or tool", "tasks", "failed", "usual time", "p90", "cpu", "memory", "read", "last"});
  std::uint64_t tasks = 0;
  for (const tracer::HistoryKind& kind : kinds) {
    const tracer::Expectation usual = history.expect(kind.kind, options.input_bytes);
    tasks += kind.tasks;
    grid.add({pipeline_of(kind.kind.pipeline, kind.kind.owner_uid), visible(kind.kind.step, kMostName),
              std::to_string(kind.tasks), std::to_string(kind.tasks - kind.succeeded),
              text_of(usual.wall_ns, format_duration),
              usual.wall_ns ? format_duration(usual.wall_ns->p90) : kUnknownFigure,
              text_of(usual.cpu_ns, format_duration), text_of(usual.peak_bytes, format_bytes),
              text_of(usual.read_bytes, format_bytes), day_of(kind.last_time_s)});
  }
  std::vector<tracer::HistoryRun> runs;
  for (const tracer::HistoryRun& run : history.runs())
    if (is_wanted(options, run.pipeline)) runs.push_back(run);
  std::string text = kinds.empty() ? "" : grid.text() + '\n';
  text += runs_of(runs);
  text += fmt::format("{} of {} in {}\n", format_count(tasks, "task", "tasks"),
                      format_count(runs.size(), "run", "runs"), printable(file.string()));
  return text + fmt::format(
                    "Usual: the median of at least {} tasks that succeeded; - is not known. To delete all: "
                    "tracerd history --delete\n",
                    tracer::History::kLeast);
}

std::string json_of(const tracer::History& history, const Options& options, const std::filesystem::path& file) {
  HistoryAnswer answer;
  for (const tracer::HistoryKind& kind : kinds_of(history, options))
    answer.kinds.push_back({kind, history.expect(kind.kind, options.input_bytes)});
  for (const tracer::HistoryRun& run : history.runs())
    if (is_wanted(options, run.pipeline) && answer.runs.size() < HistoryAnswer::kMostRuns) answer.runs.push_back(run);
  return history_json(answer, file) + '\n';
}

}  // namespace

int history_command(const Options& options) {
  const auto user = user_to_run_as(std::nullopt);
  const std::filesystem::path file = history_to_read(options, user);
  act_for_caller();
  std::string text;
  std::error_code ignored;
  if (options.delete_history) {
    text = tracer::delete_history(file) ? fmt::format("deleted {}\n", printable(file.string()))
                                        : fmt::format("there was no history {}\n", printable(file.string()));
  } else if (!options.history && !std::filesystem::exists(file, ignored)) {
    text = options.as_json ? fmt::format("{{\"kinds\":[],\"runs\":[]}}\n")
                           : "There is no history yet: 'tracerd run' begins one.\n";
  } else if (options.prune) {
    const std::uint64_t removed = tracer::prune_history(file, *options.prune);
    text = fmt::format("removed {}\n", format_count(removed, "task", "tasks"));
  } else {
    const tracer::History history(file);
    text = options.as_json ? json_of(history, options, file) : table_of(history, options, file);
  }
  write_text(STDOUT_FILENO, text, "standard output", [] { return true; });
  return 0;
}

}  // namespace tracerd
