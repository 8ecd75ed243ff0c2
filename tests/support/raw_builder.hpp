// SPDX-License-Identifier: Apache-2.0
/// Counters for tests of what is made of them.
#pragma once

#include <cstdint>

#include "source/raw_counters.hpp"

namespace raw {

/// Every counter different, so that a mix-up shows.
inline tracer::internal::RawAccount counted(std::uint64_t unit) {
  tracer::internal::RawAccount a;
  a.cpu_ns = 100 * unit;
  a.user_sampled_ns = 3 * unit;
  a.system_sampled_ns = unit;
  a.run_queue_ns = 5 * unit;
  a.minor_faults = 6 * unit;
  a.major_faults = 7 * unit;
  a.voluntary_switches = 8 * unit;
  a.involuntary_switches = 9 * unit;
  a.read_bytes = 10 * unit;
  a.written_bytes = 11 * unit;
  a.read_calls = 12 * unit;
  a.write_calls = 13 * unit;
  a.storage_read_bytes = 14 * unit;
  a.storage_written_bytes = 15 * unit;
  a.storage_cancelled_bytes = 16 * unit;
  return a;
}

}  // namespace raw
