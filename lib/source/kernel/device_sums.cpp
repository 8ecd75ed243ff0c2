// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/device_sums.hpp"

#include <cstddef>
#include <cstring>
#include <optional>

namespace tracer::internal {
namespace {

enum Direction : std::size_t { kRead = 0, kWrite = 1 };

std::optional<std::uint64_t> mean_latency_ns(const tracer_device_sums& before, const tracer_device_sums& now,
                                             Direction direction) noexcept {
  const std::uint64_t timed = now.timed[direction] - before.timed[direction];
  if (timed == 0) return std::nullopt;
  return (now.latency_ns[direction] - before.latency_ns[direction]) / timed;
}

/// The upper edge of the slot in which the 99th percentile lies. Absent: no request was timed, or that slot, the last,
/// has no edge.
std::optional<std::uint64_t> p99_at_most_ns(const tracer_device_sums& before, const tracer_device_sums& now) noexcept {
  std::uint64_t all = 0;
  for (std::size_t slot = 0; slot < TRACER_LATENCY_SLOTS; ++slot) all += now.slots[slot] - before.slots[slot];
  if (all == 0) return std::nullopt;
  std::uint64_t up_to_here = 0;
  for (std::size_t slot = 0; slot + 1 < TRACER_LATENCY_SLOTS; ++slot) {
    up_to_here += now.slots[slot] - before.slots[slot];
    if (up_to_here >= all - all / 100) return (std::uint64_t{2} << slot) * 1000;
  }
  return std::nullopt;
}

}  // namespace

bool same_sums(const tracer_device_sums& before, const tracer_device_sums& now) noexcept {
  return std::memcmp(&before, &now, sizeof now) == 0;
}

void take_difference(const tracer_device_sums& before, const tracer_device_sums& now, DeviceRecord& record) noexcept {
  record.read_requests = now.requests[kRead] - before.requests[kRead];
  record.write_requests = now.requests[kWrite] - before.requests[kWrite];
  record.read_bytes = now.bytes[kRead] - before.bytes[kRead];
  record.written_bytes = now.bytes[kWrite] - before.bytes[kWrite];
  record.read_latency_ns = mean_latency_ns(before, now, kRead);
  record.write_latency_ns = mean_latency_ns(before, now, kWrite);
  record.latency_p99_at_most_ns = p99_at_most_ns(before, now);
}

}  // namespace tracer::internal
