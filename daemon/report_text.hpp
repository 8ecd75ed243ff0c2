// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <tracer/report.hpp>

#include "report_table.hpp"

namespace tracerd {

/// What is printed at the end of run and watch; lines as long as they come where `columns` is absent.
std::string format_report(const std::string& title, const tracer::Report& report, std::optional<By> by,
                          std::optional<std::size_t> columns);

}  // namespace tracerd
