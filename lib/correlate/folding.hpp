// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tracer/event.hpp>

namespace tracer::internal {

/// Of one tool in one task; more than so many living processes are told together.
constexpr std::size_t kMostSamplesOfOneTool = 64;

/// The events of a snapshot: a ProcessSample for each process, or a ToolSample for all of those that are too many. That
/// of `own_pid`, the session's own process, is always one of its own: OwnWork may count it.
void fold(std::vector<ProcessSample> samples, std::uint32_t own_pid, std::vector<Event>& events);

}  // namespace tracer::internal
