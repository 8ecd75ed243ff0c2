// SPDX-License-Identifier: Apache-2.0
/// From raw counters to accounts: what can't be known becomes absent here.
#pragma once

#include <cstdint>

#include <tracer/event.hpp>

#include "wire.h"

namespace tracer {

/// a - b, field by field; 0 where b is larger, as a running thread's counters may be read in two steps.
tracer_wire_account difference(const tracer_wire_account& a, const tracer_wire_account& b) noexcept;

/// `flags` as in wire.h. Without peak.
Account to_account(const tracer_wire_account& raw, std::uint32_t flags) noexcept;

void set_peak(Account& account, std::uint64_t pages, std::uint32_t flags) noexcept;

/// Adds field by field; absent where either is.
void add(Account& sum, const Account& more) noexcept;

}  // namespace tracer
