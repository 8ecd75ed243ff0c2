// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
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
using tracer::internal::ComparedSide;
using tracer::internal::Comparison;
using tracer::internal::HistoryFile;
using tracer::internal::side_of;

Comparison compared_recordings(const Options& options) {
  std::vector<tracer::RecordingReader> recordings;
  for (const std::string& file : options.files) recordings.push_back(open_recording({file}));
  become_reader();
  ComparedSide a = side_of(recordings[0]);
  ComparedSide b = side_of(recordings[1]);
  report_damage(recordings);
  return tracer::internal::compare(std::move(a), std::move(b));
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

Comparison compared_runs(const Options& options) {
  const auto user = user_to_run_as(std::nullopt);
  const std::filesystem::path place = history_to_read(options, user);
  act_for_caller();
  HistoryFile file(place, HistoryFile::Access::kRead);
  const auto runs = file.runs();
  const HistoryRun a = run_named(runs, options.files[0]);
  const HistoryRun b = run_named(runs, options.files[1]);
  const auto tasks = file.tasks();
  return tracer::internal::compare(tracer::internal::side_of_run(tasks, a), tracer::internal::side_of_run(tasks, b),
                                   tracer::internal::spreads_beside(tasks, a.run_key, b.run_key));
}

}  // namespace

int compare_command(const Options& options) {
  const Comparison compared =
      options.files[0].starts_with(kRunPrefix) ? compared_runs(options) : compared_recordings(options);
  write_text(STDOUT_FILENO,
             options.as_json ? tracer::internal::compare_json(compared) : tracer::internal::compare_text(compared),
             "standard output", [] { return true; });
  return 0;
}

}  // namespace tracerd
