// SPDX-License-Identifier: Apache-2.0
/// Two runs of a history side by side, and how much their steps vary anyway.
#pragma once

#include <string_view>
#include <vector>

#include "history/rows.hpp"
#include "report/compare.hpp"

namespace tracer::internal {

/// Of the runs whose key begins so; there may be several, or none. The newest first.
std::vector<HistoryRun> runs_named(const std::vector<HistoryRun>& runs, std::string_view key);
/// By step; of a command without tasks: by its tool.
ComparedSide side_of_run(const std::vector<PastTask>& tasks, const HistoryRun& run);
/// How much tasks of the same kinds vary that succeeded in all other runs: the median absolute deviation × 1.4826.
/// Absent below History::kLeast of them.
UsualSpreads spreads_beside(const std::vector<PastTask>& tasks, std::string_view run_a, std::string_view run_b);

}  // namespace tracer::internal
