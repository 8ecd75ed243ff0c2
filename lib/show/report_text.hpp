// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <tracer/report.hpp>

#include "show/report_table.hpp"

namespace tracer::internal {

/// What stands around the table: each part is some lines, "" if there is nothing to say.
struct ReportNotes {
  std::string findings;  ///< Above the table. The others are below it, and begin with an empty line.
  std::string paths;     ///< Of runs: the critical path, and the time in which no task ran.
  std::string pipelines;
  std::string cgroups;
  std::string touched;  ///< Files, peers, devices and GPUs.
  std::string engines;
  std::string requested;  ///< What runs and steps requested beside what they used.
  std::string queue;      ///< Tasks that waited, or wait, until they start.
  std::string waste;      ///< What tasks requested and did not use, and its cost where the report has a price.
  std::string failures;
  std::string excused;
  std::string survivors;
  std::string certificate;
};
ReportNotes format_notes(const Report& report, std::optional<std::size_t> columns);

/// "status 1", "signal 9 (KILL)"
std::string format_status(const Failure& failure);
/// "passed on by bash; ignored by s.sh"; empty: not known.
std::string format_outcome(const Failure& failure);

/// What is printed at the end of run and watch; lines as long as they come where `columns` is absent.
std::string format_report(const std::string& title, const Report& report, std::optional<By> by,
                          std::optional<std::size_t> columns);

}  // namespace tracer::internal
