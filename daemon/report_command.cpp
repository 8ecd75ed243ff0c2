// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>
#include <deque>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <tracer/error.hpp>
#include <tracer/recording.hpp>
#include <tracer/report.hpp>

#include "commands.hpp"
#include "privileges.hpp"
#include "recordings.hpp"
#include "show/report_text.hpp"
#include "show/screen.hpp"

namespace tracerd {
using tracer::internal::format_report;
using tracer::internal::terminal_columns;
namespace {

tracer::Report report_of(tracer::RecordingReader& reader) {
  tracer::Summary summary;
  while (const auto event = reader.next()) summary.add(*event);
  return tracer::make_report(summary);
}

/// "a.tracer on node1, b.tracer on node2"
std::string title_of(const std::vector<std::string>& names, const std::deque<tracer::RecordingReader>& readers) {
  std::string title;
  for (std::size_t i = 0; i < names.size(); ++i)
    title += fmt::format("{}{} on {}", i == 0 ? "" : ", ", names[i], readers[i].host().host_name);
  return title;
}

}  // namespace

int report_command(const Options& options) {
  std::vector<std::string> names;
  std::deque<tracer::RecordingReader> readers;
  for (const std::string& file : options.files) {
    names.push_back(file == "-" ? "standard input" : file);
    readers.push_back(open_recording(file));
  }
  become_reader();
  std::vector<tracer::Report> reports;
  std::vector<std::int64_t> offsets;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    reports.push_back(report_of(readers[i]));
    offsets.push_back(static_cast<std::int64_t>(readers[i].host().wall_offset_ns));
    report_damage(names[i], readers[i].damage());
  }
  const tracer::Report report = tracer::sum_of_reports(reports, offsets);
  const std::string text =
      options.as_json
          ? to_json(report) + '\n'
          : format_report(title_of(names, readers), report, options.by, terminal_columns(STDOUT_FILENO)).substr(1);
  write_text(STDOUT_FILENO, text, "standard output", [] { return true; });
  return 0;
}

}  // namespace tracerd
