// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
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
ReportRow report_row(const SummaryRow& sums, RowsLack lack);
/// No row adds up what a loss of this cause lost.
bool is_in_no_row(std::string_view cause);

/// Where the certificate says that something is missing, figures are lower bounds.
void bound_rows(Report& report);

void add_damage(RecordingDamage& damage, const RecordingDamage& more);

/// Sets how many tasks each run and step has, and how many of these have not started here.
void count_tasks(std::vector<ReportNode>& nodes);
/// Likewise, and all together.
void count_tasks(Report& report);

}  // namespace tracer::internal
