// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "report/compare.hpp"

namespace tracer::internal {

/// The whole and what failed, then steps and tools.
std::string compare_text(const Comparison& compared);

}  // namespace tracer::internal
