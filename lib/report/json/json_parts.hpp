// SPDX-License-Identifier: Apache-2.0
/// Parts that several JSON documents have: the report, and what is known of one task or process.
#pragma once

#include <optional>
#include <vector>

#include <tracer/report.hpp>

#include "report/json_builder.hpp"

namespace tracer::internal {

/// Keys of the object that is open.
void put_labels(JsonBuilder& json, const Context& context);
void put_process(JsonBuilder& json, const Process& process);
void put_requested(JsonBuilder& json, const Requested& requested);
/// `time`, `task_ledger`, `waits_for`, `bound_by` and `bound_share`.
void put_bound(JsonBuilder& json, const ReportRow& row);

/// `without_task_ns` and `critical_path`. Null: there is none.
void put_path(JsonBuilder& json, const CriticalPath* path);

/// `findings`.
void put_findings(JsonBuilder& json, const std::vector<Finding>& findings);

}  // namespace tracer::internal
