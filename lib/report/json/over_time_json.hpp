// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <tracer/host.hpp>

#include "report/sums/over_time.hpp"

namespace tracer::internal {

/// docs/state.md, "Over time".
std::string to_json(const ResourcesOverTime& sums, const HostInfo& host);

}  // namespace tracer::internal
