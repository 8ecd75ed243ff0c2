// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "source/records.hpp"
#include "wire.h"

namespace tracer::internal {

/// Sums only grow.
bool same_sums(const tracer_device_sums& before, const tracer_device_sums& now) noexcept;

/// Fills in what a device did between two reads of its sums: requests, bytes and latencies.
void take_difference(const tracer_device_sums& before, const tracer_device_sums& now, DeviceRecord& record) noexcept;

}  // namespace tracer::internal
