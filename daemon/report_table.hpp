// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <tracer/report.hpp>

namespace tracerd {

/// The tools, the total and the steps, with the legend of what is in them. In so few columns of text as there are, it
/// does without those that matter least.
std::string format_tables(const tracer::Report& report, std::optional<std::size_t> columns);

}  // namespace tracerd
