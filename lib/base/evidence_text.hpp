// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <tracer/finding.hpp>

namespace tracer::internal {

/// "512 MiB", "71 %", or the text.
std::string format_evidence(const Evidence& evidence);

}  // namespace tracer::internal
