// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tracer/summary.hpp>

namespace tracer::internal {

/// "run", "step" … as pages and Python name it.
inline const char* to_string(SummaryLevel level) noexcept {
  switch (level) {
    case SummaryLevel::kRun: return "run";
    case SummaryLevel::kStep: return "step";
    case SummaryLevel::kTask: return "task";
    case SummaryLevel::kEngine: return "engine";
    case SummaryLevel::kTool: break;
  }
  return "tool";
}

}  // namespace tracer::internal
