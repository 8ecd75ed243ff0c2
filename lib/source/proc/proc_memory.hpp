// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace tracer::internal {

/// Pss of /proc/PID/smaps_rollup; 0 when it has ended, absent when it can't be read. Walks the page tables: about 1 ms
/// for 100 MiB.
std::optional<std::uint64_t> read_pss_bytes(std::uint32_t pid, std::uint64_t huge_sharers = 0);

}  // namespace tracer::internal
