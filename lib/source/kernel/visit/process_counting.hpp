// SPDX-License-Identifier: Apache-2.0
/// User space's part in the ledgers of processes that were taken in while they ran.
#pragma once

#include <cstdint>

struct lifecycle_bpf;

namespace tracer::internal {

/// What is on this CPU is counted from now on. One that is offline runs nothing.
void count_on(lifecycle_bpf& skeleton, std::uint32_t cpu) noexcept;
/// Likewise, on each.
void count_on_all(lifecycle_bpf& skeleton) noexcept;
/// After a visit of what lives: what has been on a CPU since before its process was taken in is counted there. Does
/// nothing where the visit took in no process with several threads.
void count_what_runs(lifecycle_bpf& skeleton) noexcept;

}  // namespace tracer::internal
