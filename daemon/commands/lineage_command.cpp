// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include <tracer/recording.hpp>

#include "commands/commands.hpp"
#include "files/recordings.hpp"
#include "process/privileges.hpp"
#include "report/lineage.hpp"
#include "report/sums/run_folder.hpp"
#include "show/lineage_text.hpp"
#include "show/screen.hpp"

namespace tracerd {
namespace {

/// Recordings of one boot of a host may be parts of one session: their files are the same.
std::size_t number_of(std::vector<std::string>& boots, const std::string& boot) {
  const auto known = std::find(boots.begin(), boots.end(), boot);
  if (known != boots.end()) return static_cast<std::size_t>(known - boots.begin());
  boots.push_back(boot);
  return boots.size() - 1;
}

tracer::internal::LineageGraph lineage_of(std::vector<tracer::RecordingReader>& recordings) {
  tracer::internal::LineageBuilder builder;
  tracer::internal::RunFolder folder;
  std::vector<std::string> boots;
  for (tracer::RecordingReader& reader : recordings) {
    const tracer::HostInfo& host = reader.host();
    const std::size_t boot = number_of(boots, host.boot_id);
    while (const auto event = reader.next()) {
      builder.add(*event, boot, host.wall_offset_ns);
      folder.add(*event);
    }
  }
  tracer::internal::LineageGraph lineage = builder.build();
  lineage.folder = folder.path();
  return lineage;
}

}  // namespace

int lineage_command(const Options& options) {
  std::vector<tracer::RecordingReader> recordings = open_recordings(options.files);
  become_reader();
  const tracer::internal::LineageGraph lineage = lineage_of(recordings);
  const std::string text = options.as_json                               ? to_json(lineage) + '\n'
                           : options.as_dot                              ? lineage_dot(lineage)
                           : options.command == Options::Command::kFiles ? files_text(lineage)
                                                                         : lineage_text(lineage);
  report_damage(recordings);
  write_text(STDOUT_FILENO, text, "standard output", [] { return true; });
  return 0;
}

}  // namespace tracerd
