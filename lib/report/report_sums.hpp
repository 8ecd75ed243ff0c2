// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <tracer/report.hpp>

namespace tracer::internal {

/// All that is added up in `more`, too. What no sum can be made of is that of the larger one (peaks).
void add_row(ReportRow& row, const ReportRow& more);

/// What the sums of a row lack.
enum class RowsLack {
  kNothing,
  kLater,   ///< What was done since the last samples.
  kUnseen,  ///< That, and what lived too shortly to be met.
  kLost,    ///< That, and events.
};
ReportRow report_row(const SummaryRow& sums);
void mark(ReportRow& row, RowsLack lack);
/// Sets what follows from the rest of it: whether it is complete, and rows are whole.
void judge_rows(Completeness& certificate);
/// `is_over`: nothing comes any more.
RowsLack lack_of(const Completeness& certificate, bool is_over);

/// Where the certificate says that something is missing, or something comes, figures are lower bounds.
void bound_rows(Report& report, bool is_over);

/// 0: it is not known.
std::uint64_t cpu_since_start(const ReportCost& cost);
void set_cpu_share(ReportCost& cost, std::uint64_t elapsed_ns);

void add_damage(RecordingDamage& damage, const RecordingDamage& more);

/// Sets how many tasks each run and step has, and how many of these have not started here.
void count_tasks(std::vector<ReportNode>& nodes);
/// Likewise, and all together.
void count_tasks(Report& report);

}  // namespace tracer::internal
