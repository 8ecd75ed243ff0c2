// SPDX-License-Identifier: Apache-2.0
/// The sections of a page's data, each in a file of its own.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/detailed_report.hpp"
#include "report/json_builder.hpp"
#include "show/page/page_columns.hpp"
#include "show/report_text.hpp"

namespace tracer::internal {

constexpr std::size_t kMostNameLength = 200;

struct PageRow {
  unsigned depth = 0;
  SummaryLevel level = SummaryLevel::kTool;
  const ReportRow* row = nullptr;
  std::string name;
};

struct PageTable {
  std::string name;
  std::vector<PageRow> rows;
  std::string note;
};

/// Those that have rows: the tree of runs, steps, tasks and tools, and a list of each of these.
std::vector<PageTable> tables_of(const Report& report);
void write_table(JsonBuilder& json, const PageTable& table);

/// The worst first; those that are alike are one entry.
void write_findings(JsonBuilder& json, const Report& report);
void write_processes(JsonBuilder& json, const DetailedReport& detailed);
void write_timeline(JsonBuilder& json, const DetailedReport& detailed);
/// Lists and texts below the tables: failures, what still runs, pipes, cgroups, engines.
void write_parts(JsonBuilder& json, const Report& report, const ReportNotes& notes);
void write_certificate(JsonBuilder& json, const DetailedReport& detailed, const ReportNotes& notes);

}  // namespace tracer::internal
