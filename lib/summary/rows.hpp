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

enum class OwnParts {
  kOfTask,  ///< Of what it may do in there.
  kOwnRow,  ///< All that it did, and nothing else.
  kOfAll,   ///< All that it did, and all else. What is not known of one part is in another.
};

/// What the session's own process did. It has not ended, so it is no process of the row.
inline void add_own_work(SummaryRow& row, const OwnWork& work, OwnParts parts) {
  ProgramAccount part;
  part.start_ns = work.begin_ns;
  part.end_ns = work.time_ns;
  part.account = work.account;
  const std::uint64_t cpu_ns = work.account.cpu_ns.value_or(work.cpu_at_least_ns.value_or(0));
  if (!work.account.cpu_ns) row.cpu_ns += cpu_ns;
  if (parts == OwnParts::kOwnRow && !work.account.peak_rss_bytes && work.peak_rss_at_least_bytes)
    row.peak_rss_bytes = std::max(row.peak_rss_bytes.value_or(0), *work.peak_rss_at_least_bytes);
  if (parts != OwnParts::kOfTask) {
    if (!part.account.cpu_ns) part.account.cpu_ns = 0;
    if (!part.account.read_bytes) part.account.read_bytes = 0;
    if (!part.account.written_bytes) part.account.written_bytes = 0;
  }
  // What it held before is no task's.
  add_to(row, part, parts == OwnParts::kOwnRow);
  ++row.own_parts;
  row.own_cpu_ns += cpu_ns;
}

/// All that is added up in `more`, too.
inline void add_row(SummaryRow& row, const SummaryRow& more) {
  row.processes += more.processes;
  row.cpu_ns += more.cpu_ns;
  row.own_parts += more.own_parts;
  row.own_cpu_ns += more.own_cpu_ns;
  row.unknown_cpus += more.unknown_cpus;
  row.read_bytes += more.read_bytes;
  row.read_at_most_bytes += more.read_at_most_bytes;
  row.unknown_reads += more.unknown_reads;
  row.unbounded_reads += more.unbounded_reads;
  row.written_bytes += more.written_bytes;
  row.unknown_writes += more.unknown_writes;
  row.failed += more.failed;
  row.engine_failures += more.engine_failures;
  row.answers += more.answers;
  row.excused += more.excused;
  row.unknown_peaks += more.unknown_peaks;
  if (more.peak_rss_bytes) row.peak_rss_bytes = std::max(row.peak_rss_bytes.value_or(0), *more.peak_rss_bytes);
  if (more.first_start_ns != 0 && (row.first_start_ns == 0 || more.first_start_ns < row.first_start_ns))
    row.first_start_ns = more.first_start_ns;
  row.last_end_ns = std::max(row.last_end_ns, more.last_end_ns);
  if (more.ledger && !row.ledger) row.ledger.emplace();
  if (more.ledger) add_figures(*row.ledger, *more.ledger, Unknown::kIsPassed);
  if (more.process_ledger && !row.process_ledger) row.process_ledger.emplace();
  if (more.process_ledger) add_figures(*row.process_ledger, *more.process_ledger, Unknown::kIsPassed);
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
