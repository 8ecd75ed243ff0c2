// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "report/compare.hpp"

namespace tracer::internal {

std::string compare_text(const std::vector<RowChange>& steps, const std::vector<RowChange>& tools);

}  // namespace tracer::internal
