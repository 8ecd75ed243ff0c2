// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <tracer/error.hpp>
#include <tracer/recording.hpp>

#include "commands/commands.hpp"
#include "files/history_place.hpp"
#include "files/recordings.hpp"
#include "history/history_file.hpp"
#include "process/privileges.hpp"
#include "report/compare.hpp"
#include "report/compared_runs.hpp"
#include "show/compare_text.hpp"
#include "show/printable.hpp"

namespace tracerd {
namespace {

using tracer::HistoryRun;
using tracer::internal::ComparedTrace;
using tracer::internal::HistoryFile;

ComparedTrace trace_of(tracer::RecordingReader& reader) {
  ComparedTrace trace;
  while (const auto event = reader.next()) trace.add(*event);
  return trace;
}

std::string text_of(const Options& options, const std::vector<tracer::internal::RowChange>& steps,
                    const std::vector<tracer::internal::RowChange>& tools) {
  return options.as_json ? tracer::internal::compare_json(steps, tools) : tracer::internal::compare_text(steps, tools);
}

std::string compared_recordings(const Options& options) {
  Recordings recordings = open_recordings(options.files);
  become_reader();
  const auto a = trace_of(recordings.readers[0]);
  const auto b = trace_of(recordings.readers[1]);
  const auto steps = tracer::internal::changes_of(a.steps(), b.steps());
  const auto tools = tracer::internal::changes_of(a.tools(), b.tools());
  report_damage(recordings);
  return text_of(options, steps, tools);
}

HistoryRun run_named(const std::vector<HistoryRun>& runs, const std::string& asked) {
  const std::vector<HistoryRun> found =
      tracer::internal::runs_named(runs, std::string_view(asked).substr(kRunPrefix.size()));
  if (found.size() == 1) return found.front();
  throw tracer::Error({tracer::ErrorCode::kInvalidArgument,
                       0,
                       fmt::format("{} of the history is called '{}'", found.empty() ? "no run" : "more than one run",
                                   tracer::internal::printable(asked)),
                       "see 'tracerd history' for the keys of runs",
                       {}});
}

std::string compared_runs(const Options& options) {
  const auto user = user_to_run_as(std::nullopt);
  const std::filesystem::path place = history_to_read(options, user);
  act_for_caller();
  HistoryFile file(place, HistoryFile::Access::kRead);
  const auto runs = file.runs();
  const std::string a = run_named(runs, options.files[0]).run_key;
  const std::string b = run_named(runs, options.files[1]).run_key;
  const auto tasks = file.tasks();
  return text_of(
      options,
      tracer::internal::changes_of(tracer::internal::steps_of_run(tasks, a), tracer::internal::steps_of_run(tasks, b),
                                   tracer::internal::spreads_beside(tasks, a, b)),
      {});
}

}  // namespace

int compare_command(const Options& options) {
  const std::string text =
      options.files[0].starts_with(kRunPrefix) ? compared_runs(options) : compared_recordings(options);
  write_text(STDOUT_FILENO, text, "standard output", [] { return true; });
  return 0;
}

}  // namespace tracerd
