// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <tracer/report.hpp>

namespace tracer::internal {

/// The largest first; empty where the ledger is not known.
std::vector<TimeShare> time_shares(const std::optional<Ledger>& ledger);

}  // namespace tracer::internal
