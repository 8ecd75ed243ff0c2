// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <tracer/sample.hpp>

#include "correlate/cgroup_table.hpp"
#include "source/records.hpp"

namespace tracer::internal {

/// Joins what the kernel charges to cgroups with what the samples of the same snapshot say of their processes.
/// `tracked_is_followed`: no part of the filter is left to user space.
std::vector<CgroupSample> cgroup_samples(const std::vector<CgroupMemoryRecord>& records,
                                         const std::vector<ProcessSample>& samples, const CgroupTable& cgroups,
                                         bool tracked_is_followed);

}  // namespace tracer::internal
