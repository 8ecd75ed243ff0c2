// SPDX-License-Identifier: Apache-2.0
/// From the kernel's sums of waits to ledgers.
#pragma once

#include <optional>

#include <tracer/ledger.hpp>

#include "source/records.hpp"

namespace tracer::internal {

/// `account` of the same span says how CPU time is split. Absent: no thread was followed.
std::optional<Ledger> to_ledger(const RawWaits& waits, const RawAccount& account) noexcept;
/// Absent: the process was not followed, or no time passed.
std::optional<ProcessLedger> to_process_ledger(const RawProcessWaits& waits) noexcept;

}  // namespace tracer::internal
