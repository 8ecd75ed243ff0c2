// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <string>

#include <tracer/recording.hpp>

#include "commands.hpp"
#include "privileges.hpp"
#include "recordings.hpp"
#include "report/compare.hpp"
#include "show/compare_text.hpp"

namespace tracerd {
namespace {

tracer::internal::ComparedTrace trace_of(tracer::RecordingReader& reader) {
  tracer::internal::ComparedTrace trace;
  while (const auto event = reader.next()) trace.add(*event);
  return trace;
}

}  // namespace

int compare_command(const Options& options) {
  Recordings recordings = open_recordings(options.files);
  become_reader();
  const auto a = trace_of(recordings.readers[0]);
  const auto b = trace_of(recordings.readers[1]);
  const auto steps = tracer::internal::changes_of(a.steps(), b.steps());
  const auto tools = tracer::internal::changes_of(a.tools(), b.tools());
  report_damage(recordings);
  const std::string text =
      options.as_json ? tracer::internal::compare_json(steps, tools) : tracer::internal::compare_text(steps, tools);
  write_text(STDOUT_FILENO, text, "standard output", [] { return true; });
  return 0;
}

}  // namespace tracerd
