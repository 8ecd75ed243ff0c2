// SPDX-License-Identifier: Apache-2.0
#include "files/recordings.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <ctime>
#include <memory>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <tracer/error.hpp>

#include "files/past.hpp"
#include "show/certificate_text.hpp"
#include "show/printable.hpp"
#include "base/quantities.hpp"
#include "stream/recording_series.hpp"
#include "terminal/say.hpp"

namespace tracerd {
using tracer::internal::printable;

namespace {

using tracer::internal::RecordingAccess;
using tracer::internal::RecordingPart;
using tracer::internal::RecordingSeries;

std::vector<RecordingPart> parts_of(const std::vector<std::string>& files) {
  std::vector<RecordingPart> parts;
  for (const std::string& file : files) {
    if (file == "-") {
      parts.emplace_back(std::make_unique<tracer::internal::RecordingFile>(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0),
                                                                           "standard input"));
      continue;
    }
    for (RecordingPart& part : tracer::internal::open_parts({file})) parts.push_back(std::move(part));
  }
  return parts;
}

/// "12:03:04"
std::string time_of_day(const tracer::HostInfo& host, std::uint64_t boot_ns) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  return fmt::format("{:%H:%M:%S}",
                     fmt::localtime(static_cast<std::time_t>((boot_ns + host.wall_offset_ns) / kSecond)));
}

void report_missing(const RecordingPart& part) {
  if (part.missing_before == 0 && !part.cut_before) return;
  const std::string what =
      part.missing_before == 0
          ? "the end of the file before it is"
          : tracer::internal::format_count(part.missing_before, "file before it is", "files before it are");
  const std::string since =
      part.missing_from_ns == 0 ? "" : fmt::format("from {} ", time_of_day(part.host, part.missing_from_ns));
  say("tracerd: {}: {} missing, {}until {}\n", printable(part.name), what, since,
      time_of_day(part.host, part.begin_ns));
}

void report_damage(const RecordingSeries& series) {
  for (std::size_t at = 0; at < series.parts().size(); ++at) {
    const RecordingPart& part = series.parts()[at];
    report_missing(part);
    if (part.repeated) say("tracerd: {}: another has the same: it counts once\n", printable(part.name));
    for (const std::string& line : tracer::internal::lines_of(series.damage_of(at)))
      say("tracerd: {}: {}\n", printable(part.name), line);
  }
}

}  // namespace

std::vector<tracer::RecordingReader> open_recordings(const std::vector<std::string>& files) {
  std::vector<tracer::RecordingReader> readers;
  if (files.empty()) readers.push_back(latest_run());
  for (RecordingSeries& series : tracer::internal::series_of(parts_of(files)))
    readers.push_back(RecordingAccess::reader(std::move(series)));
  return readers;
}

tracer::RecordingReader open_recording(const std::vector<std::string>& files) {
  if (files.empty()) return latest_run();
  return RecordingAccess::reader(tracer::internal::only_series_of(parts_of(files)));
}

std::string title_of(std::vector<tracer::RecordingReader>& recordings) {
  std::string title;
  for (tracer::RecordingReader& reader : recordings) {
    const auto& parts = RecordingAccess::series(reader)->parts();
    title += fmt::format("{}{}", title.empty() ? "" : ", ", parts.front().name);
    if (parts.size() > 1) title += fmt::format(" … {} ({} files)", parts.back().name, parts.size());
    title += fmt::format(" on {}", reader.host().host_name);
  }
  return title;
}

void report_damage(std::span<tracer::RecordingReader> recordings) {
  for (tracer::RecordingReader& reader : recordings) report_damage(*RecordingAccess::series(reader));
}

}  // namespace tracerd
