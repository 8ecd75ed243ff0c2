// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tracer/signals.hpp>
#include <tracer/statistics.hpp>
#include <tracer/summary.hpp>

namespace tracerd {

struct TableInput {
  std::string title;
  std::uint64_t elapsed_ns = 0;  ///< Of the session.
  bool lived_before = false;     ///< Some of it: its CPU time is that of its whole life.
  const tracer::Summary& summary;
  std::vector<tracer::ContextTotals> totals;
  tracer::Statistics statistics;
  std::vector<tracer::SignalState> signals = {};
};

/// What is printed at the end of run and watch.
std::string format_table(const TableInput& input);

/// "4.2 s", "13 ms"
std::string format_duration(std::uint64_t ns);
/// "1.2 GiB"
std::string format_bytes(std::uint64_t bytes);

}  // namespace tracerd
