// SPDX-License-Identifier: Apache-2.0
#include "files/recordings.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "show/certificate_text.hpp"
#include "show/printable.hpp"
#include "terminal/say.hpp"

namespace tracerd {
using tracer::internal::printable;

tracer::RecordingReader open_recording(const std::string& file) {
  if (file != "-") return tracer::RecordingReader(file);
  return tracer::RecordingReader(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0), "standard input");
}

void report_damage(const std::string& name, const tracer::RecordingDamage& damage) {
  for (const std::string& line : tracer::internal::lines_of(damage)) say("tracerd: {}: {}\n", printable(name), line);
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
