// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "report/detailed_report.hpp"

namespace tracer::internal {

/// A report as one HTML page, which needs no network and no other file. `text`: what stands there where scripts don't
/// run.
std::string page_of(const DetailedReport& detailed, const std::string& title, const std::string& text);

/// What the page shows, as JSON: all figures are formatted.
std::string page_data(const DetailedReport& detailed, const std::string& title);

}  // namespace tracer::internal
