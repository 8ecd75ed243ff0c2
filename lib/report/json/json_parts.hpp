// SPDX-License-Identifier: Apache-2.0
/// Parts that several JSON documents have: the report, and what is known of one task or process.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <tracer/report.hpp>

#include "report/json_builder.hpp"

namespace tracer::internal {

/// Keys of the object that is open.
void put_labels(JsonBuilder& json, const Context& context);
/// Those of these names. Empty: all.
void put_labels(JsonBuilder& json, const Context& context, const std::set<std::string, std::less<>>& wanted);
bool is_label(std::string_view name);
void put_process(JsonBuilder& json, const Process& process);
void put_requested(JsonBuilder& json, const Requested& requested);
/// `submitted_ns` and `outcome`; those that are wanted, by name. Empty: all.
void put_submitted(JsonBuilder& json, const SubmittedTask& task, const std::set<std::string, std::less<>>& wanted = {});
/// The figures of a row, and `time`, `task_ledger`, `waits_for`, `bound_by`, `bound_share` and `requested`; those that
/// are wanted, by name. Empty: all.
void put_row_figures(JsonBuilder& json, const ReportRow& row, const std::set<std::string, std::less<>>& wanted = {});
/// Whether one of them has this name.
bool is_row_figure(std::string_view name);
/// `time` and so on, without `requested`.
void put_bound(JsonBuilder& json, const ReportRow& row);

/// `without_task_ns` and `critical_path`. Null: there is none.
void put_path(JsonBuilder& json, const CriticalPath* path);

/// `findings`.
void put_findings(JsonBuilder& json, const std::vector<Finding>& findings);

}  // namespace tracer::internal
