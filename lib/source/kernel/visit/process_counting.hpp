// SPDX-License-Identifier: Apache-2.0
/// User space's part in the ledgers of processes that were taken in while they ran.
#pragma once

struct lifecycle_bpf;

namespace tracer::internal {

/// After a visit of what lives: what has been on a CPU since before its process was taken in is counted there. Does
/// nothing where the visit took in no process with several threads.
void count_what_runs(lifecycle_bpf& skeleton) noexcept;

}  // namespace tracer::internal
