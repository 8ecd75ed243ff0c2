// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "source/raw_counters.hpp"
#include "wire.h"

namespace tracer::internal {

/// Absent: what it is of has no such ledger. A process that never had a second thread has the waits of its thread.
inline std::optional<RawProcessWaits> whole_waits_of(const tracer_wire_process_waits& wire,
                                                     bool limits_known) noexcept {
  if (wire.life_ns == 0) return std::nullopt;
  RawProcessWaits waits{wire.life_ns, wire.life_ns, wire.run_queue_ns, {}, limits_known};
  const auto take_off = [&waits](std::uint64_t time_ns) { waits.running_ns -= std::min(waits.running_ns, time_ns); };
  take_off(wire.run_queue_ns);
  for (std::size_t cause = 0; cause < kWaitCauses; ++cause) {
    waits.wait_ns[cause] = wire.wait_ns[cause];
    take_off(wire.wait_ns[cause]);
  }
  return waits;
}

}  // namespace tracer::internal
