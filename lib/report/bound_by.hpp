// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tracer/report.hpp>

namespace tracer::internal {

/// Sets bound_by and bound_share by `time`, by the rules in docs/findings.md.
void set_bound(ReportRow& row);

}  // namespace tracer::internal
