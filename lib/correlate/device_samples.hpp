// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tracer/sample.hpp>

#include "correlate/process_table.hpp"
#include "source/records.hpp"

namespace tracer::internal {

/// Without a time of its own: that is its snapshot's.
DeviceSample device_sample(const DeviceRecord& record, ProcessTable& processes);

}  // namespace tracer::internal
