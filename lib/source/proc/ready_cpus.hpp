// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <vector>

namespace tracer::internal {

/// The CPUs that those threads of these processes may use that could run just now. Empty: none could, or all are gone.
/// Bounded: of a process, some threads stand for all.
std::set<std::uint32_t> cpus_of_ready_threads(const std::vector<std::uint32_t>& pids);

}  // namespace tracer::internal
