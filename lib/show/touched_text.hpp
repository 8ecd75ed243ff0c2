// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <tracer/report.hpp>

namespace tracer::internal {

/// A few lines about GPUs and the files, peers and devices through which most went, an empty one first; "": there is
/// nothing to say.
std::string format_touched(const Report& report);

}  // namespace tracer::internal
