// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "report/detailed_report.hpp"

namespace tracer::internal {

/// What the page draws: the report's JSON, the title and the hosts; whole, with processes and what was used over time,
/// too. docs/api.md.
std::string document_of(const DetailedReport& detailed, const std::string& title, bool is_whole);

/// `held` of it: an object by task, run or neither.
std::string held_of(const DetailedReport& detailed);

}  // namespace tracer::internal
