// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <tracer/report.hpp>

namespace tracer::internal {

/// The largest first, by the ledger of processes, or where that is not known, by that of their threads; empty where
/// neither is.
std::vector<TimeShare> time_shares(const std::optional<ProcessLedger>& processes, const std::optional<Ledger>& threads);

/// Likewise, of a task or run as a whole.
std::vector<TimeShare> time_shares(const TaskLedger& ledger);

}  // namespace tracer::internal
