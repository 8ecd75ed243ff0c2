// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

#include <tracer/recording.hpp>

#include "commands.hpp"
#include "say.hpp"

namespace tracerd {
namespace {

void print_line(const std::string& line) {
  if (std::fwrite(line.data(), 1, line.size(), stdout) == line.size() && std::fputc('\n', stdout) != EOF) return;
  throw tracer::Error({tracer::ErrorCode::kFileUnwritable, errno, "can't write to standard output", {}, {}});
}

}  // namespace

int dump_command(const Options& options) {
  tracer::RecordingReader reader(options.file);
  print_line(to_json(reader.host()));
  while (const auto event = reader.next()) print_line(to_json(*event));
  if (std::fflush(stdout) != 0)
    throw tracer::Error({tracer::ErrorCode::kFileUnwritable, errno, "can't write to standard output", {}, {}});
  const tracer::RecordingDamage& damage = reader.damage();
  if (damage.skipped_bytes != 0)
    say("tracerd: {}: {} bytes are damaged or cut off; everything else was read\n", options.file, damage.skipped_bytes);
  if (damage.skipped_events != 0)
    say("tracerd: {}: {} events are of unknown kinds: a newer libtracer may know them\n", options.file,
        damage.skipped_events);
  if (damage.truncated)
    say("tracerd: {}: the recording has no end: it is still being written, or was cut short\n", options.file);
  return 0;
}

}  // namespace tracerd
