// SPDX-License-Identifier: Apache-2.0
/// How programs and processes are added to a row of sums.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include <tracer/summary.hpp>

#include "base/sums.hpp"
#include "context/failure_chains.hpp"
#include "correlate/account.hpp"

namespace tracer::internal {

inline constexpr const char* kNoTool = "(unknown)";
inline constexpr const char* kOthers = "(others)";
inline constexpr const char* kOtherTasks = "(other tasks)";

inline void add_reads(SummaryRow& row, const Account& account) {
  row.read_bytes += account.read_bytes.value_or(0);
  const std::optional<std::uint64_t> bound = account.read_bytes ? account.read_bytes : account.read_at_most_bytes;
  row.read_at_most_bytes += bound.value_or(0);
  if (!bound) {
    ++row.unbounded_reads;
  } else if (!account.read_bytes && *bound > kMostExecReadBytes) {
    ++row.unknown_reads;
  }
}

inline void add_to(SummaryRow& row, const ProgramAccount& program, bool peak_matters) {
  const Account& account = program.account;
  row.cpu_ns += account.cpu_ns.value_or(0);
  if (!account.cpu_ns) ++row.unknown_cpus;
  add_reads(row, account);
  row.written_bytes += account.written_bytes.value_or(0);
  if (!account.written_bytes) ++row.unknown_writes;
  const auto add_ledger = [](auto& sum, const auto& more) {
    if (!more) return;
    if (!sum) sum.emplace();
    add_figures(*sum, *more, Unknown::kIsPassed);
  };
  add_ledger(row.ledger, account.ledger);
  add_ledger(row.process_ledger, account.process_ledger);
  if (account.peak_rss_bytes) {
    row.peak_rss_bytes = std::max(row.peak_rss_bytes.value_or(0), *account.peak_rss_bytes);
  } else if (peak_matters) {
    ++row.unknown_peaks;
  }
  if (!program.start_ns || !program.end_ns) return;
  if (row.first_start_ns == 0 || *program.start_ns < row.first_start_ns) row.first_start_ns = *program.start_ns;
  row.last_end_ns = std::max(row.last_end_ns, *program.end_ns);
}

/// Of a row that spans time: from its first start to its last end.
inline SummaryRow spanned(SummaryRow row) {
  row.wall_ns = row.last_end_ns - std::min(row.first_start_ns, row.last_end_ns);
  return row;
}

/// Of a tool: its programs' durations are added up.
inline void add_with_wall(SummaryRow& row, const ProgramAccount& program, bool peak_matters) {
  add_to(row, program, peak_matters);
  if (program.start_ns && program.end_ns && *program.end_ns > *program.start_ns)
    row.wall_ns += *program.end_ns - *program.start_ns;
}

inline void count_process(SummaryRow& row, const ProcessExit& exit) {
  ++row.processes;
  if (exit.failed()) ++(exit.process->context->engine_own ? row.engine_failures : row.excused);
  if (exit.status_is_answer) ++row.answers;
}

/// What was excused, or an answer, is known to be a failure.
inline void count_failure(SummaryRow& row, const FailureOrigin& failure) {
  ++row.failed;
  --(failure.status_is_answer ? row.answers : row.excused);
}

}  // namespace tracer::internal
