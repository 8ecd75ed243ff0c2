// SPDX-License-Identifier: Apache-2.0
/// From raw counters to accounts: what can't be known becomes absent here.
#pragma once

#include <cstdint>
#include <optional>

#include <tracer/event.hpp>

#include "correlate/ledger.hpp"
#include "source/records.hpp"

namespace tracer::internal {

/// The share of `cpu_ns` that the kernel sampled as system time, scaled; absent when no tick met it.
std::optional<std::uint64_t> system_share(std::uint64_t cpu_ns, const RawAccount& sampled) noexcept;

/// Without peak.
Account to_account(const RawAccount& raw, const RecordFlags& flags) noexcept;

void set_peak(Account& account, std::uint64_t pages, const RecordFlags& flags) noexcept;

/// The sums of a process: up to now, or when a program began.
struct ProcessSums {
  RawAccount total;
  RawWaits waits;
  RawProcessWaits process_waits;
  std::uint64_t missed_children_cpu_ns = 0;  ///< As in Account; it may shrink, as children are found.
};
ProcessSums difference(const ProcessSums& sums, const ProcessSums& before) noexcept;

/// Of what may be mapped several times the kernel's mark is an upper bound; `seen_bytes` is the most that a snapshot
/// saw, each page once. `lacks_some`: the mark counts not all pages, and is a lower bound.
void bound_peak(Account& account, bool in_doubt, std::optional<std::uint64_t> seen_bytes,
                bool lacks_some = false) noexcept;

/// Of the program that an exec ended and that began at `base`.
Account ended_account(const ExecRecord& record, const ProcessSums& base) noexcept;
/// Of a process that lives; `sums`: of its threads. `calls_before_exec`: read calls up to its last exec; absent:
/// unknown.
Account living_account(const ProcessSums& sums, std::uint64_t read_before_exec_bytes, const RecordFlags& flags,
                       std::optional<std::uint64_t> calls_before_exec = {}) noexcept;
/// Of a whole process; `before`: what of its sums is not its own. `calls_before_exec`: as above.
Account process_account(const ExitRecord& record, const ProcessSums& before = {},
                        std::optional<std::uint64_t> calls_before_exec = {}) noexcept;
/// Of its last program, which began at `base`.
Account last_program_account(const ExitRecord& record, const ProcessSums& base) noexcept;

/// Of the sums of all processes of a context that have ended.
Account totals_account(const RawTotals& totals) noexcept;

/// It has consumed at least this: what has no bound is not known.
void make_lower_bound(Account& account) noexcept;

/// Its CPU time is not known.
void forget_cpu(Account& account) noexcept;

}  // namespace tracer::internal
