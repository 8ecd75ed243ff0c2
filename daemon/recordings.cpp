// SPDX-License-Identifier: Apache-2.0
#include "recordings.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "show/printable.hpp"
#include "say.hpp"

namespace tracerd {
using tracer::internal::printable;

tracer::RecordingReader open_recording(const std::string& file) {
  if (file != "-") return tracer::RecordingReader(file);
  return tracer::RecordingReader(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0), "standard input");
}

void report_damage(const std::string& name, const tracer::RecordingDamage& damage) {
  const std::string shown = printable(name);
  if (damage.skipped_bytes != 0)
    say("tracerd: {}: {} bytes are damaged or cut off; everything else was read\n", shown, damage.skipped_bytes);
  if (damage.skipped_events != 0)
    say("tracerd: {}: {} left out: of kinds that only a newer libtracer knows, or larger than their bytes may "
        "hold\n",
        shown, damage.skipped_events == 1 ? "1 event is" : fmt::format("{} events are", damage.skipped_events));
  if (damage.missing_frames != 0)
    say("tracerd: {}: {} missing (write error, or the file was damaged)\n", shown,
        damage.missing_frames == 1 ? "1 frame is" : fmt::format("{} frames are", damage.missing_frames));
  if (damage.read_error != 0)
    say("tracerd: {}: reading failed before the end: {}\n", shown, std::strerror(damage.read_error));
  else if (damage.truncated)
    say("tracerd: {}: the recording has no end: it is still being written, or was cut short\n", shown);
}

Recordings open_recordings(const std::vector<std::string>& files) {
  Recordings all;
  for (const std::string& file : files) {
    all.names.push_back(file == "-" ? "standard input" : file);
    all.readers.push_back(open_recording(file));
  }
  return all;
}

void report_damage(const Recordings& recordings) {
  for (std::size_t i = 0; i < recordings.names.size(); ++i)
    report_damage(recordings.names[i], recordings.readers[i].damage());
}

}  // namespace tracerd
