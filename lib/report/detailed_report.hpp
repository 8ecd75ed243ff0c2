// SPDX-License-Identifier: Apache-2.0
/// A report, and what its pictures need besides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <tracer/host.hpp>
#include <tracer/report.hpp>

#include "report/sums/container_list.hpp"
#include "report/sums/over_time.hpp"
#include "report/sums/process_list.hpp"
#include "report/sums/time_series.hpp"
#include "report/sums/timeline.hpp"

namespace tracer::internal {

struct DetailedReport {
  Report report;
  std::vector<HostInfo> hosts;
  std::shared_ptr<const Program> command = nullptr;  ///< Null: not known.
  std::uint64_t first_ns = 0;                        ///< Of all events; 0: there are none.
  std::uint64_t last_ns = 0;
  std::uint64_t part_ns = 0;  ///< Of the time series.
  std::size_t parts = 0;
  std::vector<Series> tools_over_time;
  std::vector<Series> tasks_over_time;
  ResourcesOverTime over_time;  ///< Of the only run, or of all where there is none.
  std::vector<ListedProcess> processes;
  std::vector<ListedContainer> containers;
};

/// Of several machines, or days: each has a clock of its own, so that there is no picture of all over time. At least
/// one.
DetailedReport sum_of_detailed_reports(std::vector<DetailedReport> all, std::size_t most_processes);

/// Adds events up, in bounded memory. Not thread-safe.
class DetailedSummary {
 public:
  static constexpr std::size_t kMostRows = 30;

  /// `command_pid`: whose program is the command; absent: whose is seen first.
  explicit DetailedSummary(std::optional<std::uint32_t> command_pid = {}, std::size_t most_processes = 2000)
      : command_pid_(command_pid), listed_(most_processes) {}

  void add(const Event& whole);
  const Summary& summary() const noexcept { return summary_; }
  /// Of what was added so far. Without hosts.
  DetailedReport report(const SessionFigures& session) const { return detailed(make_report(summary_, session)); }
  /// The same, around a report of summary() that was made before.
  DetailedReport detailed(Report report) const;

 private:
  void note_command(const Process& process);

  std::optional<std::uint32_t> command_pid_;
  std::shared_ptr<const Program> command_;
  std::uint64_t first_ns_ = 0;
  std::uint64_t last_ns_ = 0;
  Summary summary_;
  Timeline timeline_;
  OverTime over_time_{std::nullopt};
  ProcessList listed_;
  ContainerList containers_;
};

}  // namespace tracer::internal
