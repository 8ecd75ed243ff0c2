// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <tracer/error.hpp>
#include <tracer/recording.hpp>
#include <tracer/report.hpp>

#include "commands/commands.hpp"
#include "files/chosen_price.hpp"
#include "files/recordings.hpp"
#include "process/privileges.hpp"
#include "report/detailed_report.hpp"
#include "report/json/document.hpp"
#include "show/page.hpp"
#include "show/report_text.hpp"
#include "show/screen.hpp"
#include "terminal/color.hpp"
#include "terminal/say.hpp"

namespace tracerd {
using tracer::internal::document_of;
using tracer::internal::format_report;
using tracer::internal::page_of;
using tracer::internal::terminal_columns;
namespace {

/// In a page.
constexpr std::size_t kMostListedProcesses = 20000;

using tracer::internal::DetailedReport;
using Recordings = std::vector<tracer::RecordingReader>;

tracer::Report sum_of(Recordings& recordings) {
  std::vector<tracer::Report> reports;
  std::vector<std::int64_t> offsets;
  std::optional<tracer::Summary> summary;
  read_sessions(recordings, {[&](const tracer::HostInfo& host) {
                               summary.emplace();
                               offsets.push_back(static_cast<std::int64_t>(host.wall_offset_ns));
                             },
                             [&](const tracer::Event& event) { summary->add(event); },
                             [&](const tracer::RecordingDamage& damage) {
                               reports.push_back(tracer::make_report(*summary, {.damage = damage}));
                             }});
  return tracer::sum_of_reports(reports, offsets);
}

std::string page_of_all(Recordings& recordings, const ChosenPrice& chosen) {
  // A page is UTF-8, wherever it is made.
  const tracer::internal::Utf8Scope utf8(true);
  std::vector<DetailedReport> reports;
  std::optional<tracer::internal::DetailedSummary> summary;
  tracer::HostInfo of_sessions;
  read_sessions(recordings, {[&](const tracer::HostInfo& host) {
                               summary.emplace(std::nullopt, kMostListedProcesses);
                               of_sessions = host;
                             },
                             [&](const tracer::Event& event) { summary->add(event); },
                             [&](const tracer::RecordingDamage& damage) {
                               reports.push_back(summary->report({.damage = damage}));
                               reports.back().hosts = {of_sessions};
                             }});
  DetailedReport sum = sum_of_detailed_reports(std::move(reports), kMostListedProcesses);
  say("{}", set_price(sum.report, chosen));
  const std::string title = title_of(recordings);
  return page_of(document_of(sum, title, true), title, format_report(title, sum.report, std::nullopt, std::nullopt));
}

/// Who called sudo is one that is there, or has chosen none.
ChosenPrice price_of_caller() {
  try {
    return chosen_price(user_to_run_as(std::nullopt));
  } catch (const tracer::Error&) {
    return {};
  }
}

}  // namespace

int report_command(const Options& options) {
  const ChosenPrice chosen = price_of_caller();
  Recordings recordings = open_recordings(options.files);
  become_reader();
  std::string text;
  if (options.as_page) {
    text = page_of_all(recordings, chosen);
  } else {
    tracer::Report report = sum_of(recordings);
    say("{}", set_price(report, chosen));
    text = options.as_json ? to_json(report) + '\n'
                           : colored(STDOUT_FILENO, format_report(title_of(recordings), report, options.by,
                                                                  terminal_columns(STDOUT_FILENO)))
                                 .substr(1);
  }
  report_damage(recordings);
  write_text(STDOUT_FILENO, text, "standard output", [] { return true; });
  return 0;
}

}  // namespace tracerd
