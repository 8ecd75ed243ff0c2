// SPDX-License-Identifier: Apache-2.0
/// What the service has recorded of the caller.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <tracer/recording.hpp>

#include "report/past_runs.hpp"

namespace tracerd {

struct ListedRun {
  tracer::internal::PastRun run;
  std::uint64_t file_bytes = 0;  ///< Of the recording's files that it is in.
};

/// All that the caller may see, the newest first. Gives up all rights, as the next. Throws tracer::Error.
std::vector<ListedRun> past_runs();
/// The events of the caller's own latest run, and says which it is. Throws tracer::Error, also where there is none.
tracer::RecordingReader latest_run();

struct FoundRun {
  tracer::RecordingReader reader;
  bool is_named = false;
};
/// Likewise, of the latest run with this name, id or key; where none has it, of the latest of all.
FoundRun find_run(std::string_view name);

}  // namespace tracerd
