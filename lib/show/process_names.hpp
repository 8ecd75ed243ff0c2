// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tracer/report.hpp>

namespace tracer::internal {

/// For each row of one process: its tool, its pid, and the words of its command by which it differs from the others of
/// that tool.
std::vector<std::string> process_names(const std::vector<ReportRow>& rows);

/// The words of its command, else its executable. Absent: neither is known.
std::optional<std::string> joined_command(const Program& program);

}  // namespace tracer::internal
