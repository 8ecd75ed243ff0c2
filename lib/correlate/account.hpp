// SPDX-License-Identifier: Apache-2.0
/// From raw counters to accounts: what can't be known becomes absent here.
#pragma once

#include <cstdint>

#include <tracer/event.hpp>

#include "correlate/ledger.hpp"
#include "source/records.hpp"

namespace tracer::internal {

/// a - b, field by field; 0 where b is larger, as a running thread's counters may be read in two steps.
tracer_wire_account difference(const tracer_wire_account& a, const tracer_wire_account& b) noexcept;

tracer_wire_account sum_of(const tracer_wire_account& a, const tracer_wire_account& b) noexcept;

/// The share of `cpu_ns` that the kernel sampled as system time, scaled; absent when no tick met it.
std::optional<std::uint64_t> system_share(std::uint64_t cpu_ns, const tracer_wire_account& sampled) noexcept;

/// `flags` as in wire.h. Without peak.
Account to_account(const tracer_wire_account& raw, std::uint32_t flags) noexcept;

std::uint64_t bytes_of_pages(std::uint64_t pages) noexcept;
void set_peak(Account& account, std::uint64_t pages, std::uint32_t flags) noexcept;

/// What a process's sums were when a program began.
struct ProgramBase {
  RawAccount total{};
  RawWaits waits{};
};

/// Of the program that an exec ended and that began at `base`.
Account ended_account(const ExecRecord& record, const ProgramBase& base) noexcept;
/// Of a process that lives, from the sum of its threads.
Account living_account(const RawAccount& sum, const RawWaits& waits, std::uint64_t read_before_exec_bytes,
                       std::uint32_t flags) noexcept;
/// Of a whole process.
Account process_account(const ExitRecord& record) noexcept;
/// Of its last program, which began at `base`.
Account last_program_account(const ExitRecord& record, const ProgramBase& base) noexcept;

/// Of the sums of all processes of a context that have ended.
Account totals_account(const tracer_context_totals& totals) noexcept;

inline constexpr std::uint64_t kMostExecReadBytes = TRACER_MOST_EXEC_READ_BYTES;

/// Its CPU time is not known.
void forget_cpu(Account& account) noexcept;

}  // namespace tracer::internal
