// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <tracer/event.hpp>

namespace tracer::internal {

/// Of one tool in one task; more than so many living processes are told together.
constexpr std::size_t kMostSamplesOfOneTool = 64;

/// The events of a snapshot: a ProcessSample for each process, or a ToolSample for all of those that are too many.
void fold(std::vector<ProcessSample> samples, std::vector<Event>& events);

}  // namespace tracer::internal
