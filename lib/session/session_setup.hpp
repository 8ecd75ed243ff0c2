// SPDX-License-Identifier: Apache-2.0
/// From a session's options to those of its stages.
#pragma once

#include <vector>

#include <tracer/session.hpp>

#include "correlate/correlator.hpp"
#include "source/kernel/kernel_source.hpp"

namespace tracer {

internal::Correlator::Rules rules_of(const SessionOptions& options);
bool wanted(const SessionOptions& options, Family family);

/// The kernel's part of a filter; each context gets a number, its place in `contexts`. Throws Error(kInvalidArgument).
internal::KernelSourceOptions kernel_options(const SessionOptions& options, std::vector<Context>& contexts);

ContextTotals totals_of(const internal::RawTotals& raw, const std::vector<Context>& contexts);

}  // namespace tracer
