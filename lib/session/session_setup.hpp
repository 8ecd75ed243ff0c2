// SPDX-License-Identifier: Apache-2.0
/// From a session's options to those of its stages.
#pragma once

#include <memory>

#include <tracer/session.hpp>

#include "correlate/correlator.hpp"
#include "session/context_table.hpp"
#include "source/kernel/kernel_source.hpp"
#include "source/raw_counters.hpp"
#include "source/source_request.hpp"

namespace tracer::internal {

/// What any source's session may be given. Throws Error(kInvalidArgument).
const SessionOptions& checked(const SessionOptions& options);

/// With a session id of its own, unless its events are of another session.
HostInfo host_of(const Source& source);

/// `contexts`: those behind the records' context ids; null: there are none. Mistakes in rules for engines are added to
/// `skipped`. Throws Error: kInvalidRules, kFileUnreadable.
Correlator::Rules rules_of(const SessionOptions& options, std::shared_ptr<ContextTable> contexts, const HostInfo& host,
                           std::vector<Problem>& skipped,
                           std::shared_ptr<Accounts> accounts = std::make_shared<Accounts>());
bool wanted(const SessionOptions& options, Family family);

/// With the part of a filter that a source decides; its contexts get numbers. Throws Error(kInvalidArgument).
SourceRequest request_of(const SessionOptions& options, ContextTable& contexts);
/// Likewise, with the sizes of the kernel's tables.
KernelSourceOptions kernel_options(const SessionOptions& options, ContextTable& contexts);

ContextTotals totals_of(const RawTotals& raw, Context context);

}  // namespace tracer::internal
