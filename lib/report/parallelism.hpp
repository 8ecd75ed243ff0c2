// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <tracer/ledger.hpp>
#include <tracer/report.hpp>

namespace tracer::internal {

/// How many CPUs were used at once while any was. Absent: it is not known for how long any was.
inline std::optional<double> parallelism_of(std::uint64_t cpu_ns, const std::optional<TaskLedger>& ledger) {
  constexpr std::uint64_t kPartUnsure = 20;
  if (!ledger || ledger->computing_ns == 0) return std::nullopt;
  if (ledger->computing_at_most_ns - ledger->computing_ns > ledger->wall_ns / kPartUnsure) return std::nullopt;
  return static_cast<double>(cpu_ns) / static_cast<double>(ledger->computing_ns);
}

/// CPU time by elapsed time, with the bound of the CPU time. Absent: of a lower bound of both, neither is known.
inline std::optional<double> utilization_of(const ReportRow& row) {
  if (!row.cpu_ns || row.wall_ns == 0 || row.wall_bound != Bound::kExact) return std::nullopt;
  return static_cast<double>(row.cpu_ns->value) / static_cast<double>(row.wall_ns);
}

inline std::optional<double> parallelism_of(const ReportRow& row) {
  if (!row.cpu_ns || row.cpu_ns->bound != Bound::kExact) return std::nullopt;
  return parallelism_of(row.cpu_ns->value, row.task_ledger);
}

}  // namespace tracer::internal
