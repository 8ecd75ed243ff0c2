// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include <tracer/report.hpp>

namespace tracer::internal {

/// Processes end while the events of a living session are added up. `figures` were taken before, `later` takes them
/// now: the two bound how many of the ends were seen.
void meet_living(SessionFigures& figures, std::uint64_t exits, const std::function<SessionFigures()>& later);

}  // namespace tracer::internal
