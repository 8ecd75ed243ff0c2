// SPDX-License-Identifier: Apache-2.0
/// From the kernel's sums of waits to ledgers.
#pragma once

#include <tracer/ledger.hpp>

#include "source/records.hpp"

namespace tracer::internal {

/// `account` of the same span tells how CPU time is split.
Ledger to_ledger(const RawWaits& waits, const RawAccount& account) noexcept;

}  // namespace tracer::internal
