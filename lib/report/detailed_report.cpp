// SPDX-License-Identifier: Apache-2.0
#include "report/detailed_report.hpp"

#include <algorithm>
#include <utility>

namespace tracer::internal {

void DetailedSummary::add(const Event& whole) {
  if (whole.kind() == EventKind::kNone) return;
  const Event event = summary_.add(whole);
  if (first_ns_ == 0) first_ns_ = event.time_ns();
  last_ns_ = std::max(last_ns_, event.time_ns());
  timeline_.add(event);
  over_time_.add(event);
  containers_.add(event);
  if (const auto* exec = event.get_if<ProcessExec>()) {
    note_command(*exec->process);
    listed_.began(*exec);
  }
  // A session of this process is about its script, whatever that starts first.
  if (const auto* work = event.get_if<OwnWork>(); work != nullptr && !command_pid_) command_ = work->process->program;
  if (const auto* exit = event.get_if<ProcessExit>()) {
    note_command(*exit->process);
    listed_.add(*exit);
  }
}

void DetailedSummary::note_command(const Process& process) {
  if (!command_ && (!command_pid_ || *command_pid_ == process.pid)) command_ = process.program;
}

DetailedReport DetailedSummary::detailed(Report report) const {
  DetailedReport made;
  made.report = std::move(report);
  made.command = command_;
  made.first_ns = first_ns_;
  made.last_ns = last_ns_;
  made.part_ns = timeline_.tools().part_ns();
  made.parts = timeline_.tools().parts();
  made.tools_over_time = timeline_.tools().rows(kMostRows);
  made.tasks_over_time = timeline_.tasks().rows(kMostRows);
  OverTime over_time = over_time_;
  made.over_time = over_time.sums();
  ProcessList listed = listed_;
  for (const Survivor& living : made.report.survivors) listed.add(living.sample);
  made.processes = listed.in_order();
  made.containers = containers_.in_order();
  return made;
}

DetailedReport sum_of_detailed_reports(std::vector<DetailedReport> all, std::size_t most_processes) {
  DetailedReport sum = std::move(all.front());
  std::vector<Report> reports = {std::move(sum.report)};
  std::vector<std::int64_t> offsets = {static_cast<std::int64_t>(sum.hosts.front().wall_offset_ns)};
  for (std::size_t i = 1; i < all.size(); ++i) {
    DetailedReport& more = all[i];
    const std::int64_t by_ns = static_cast<std::int64_t>(more.hosts.front().wall_offset_ns) - offsets.front();
    const auto moved = [by_ns](std::uint64_t time_ns) {
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(time_ns) + by_ns);
    };
    for (ListedProcess& each : more.processes) {
      each.start_ns = moved(each.start_ns);
      each.begin_ns = moved(each.begin_ns);
      each.end_ns = moved(each.end_ns);
      sum.processes.push_back(std::move(each));
    }
    for (ListedContainer& each : more.containers) {
      each.begin_ns = moved(each.begin_ns);
      if (each.end_ns) each.end_ns = moved(*each.end_ns);
      if (each.gone_ns) each.gone_ns = moved(*each.gone_ns);
      sum.containers.push_back(std::move(each));
    }
    if (more.first_ns != 0) {
      sum.first_ns = sum.first_ns == 0 ? moved(more.first_ns) : std::min(sum.first_ns, moved(more.first_ns));
      sum.last_ns = std::max(sum.last_ns, moved(more.last_ns));
    }
    if (std::none_of(sum.hosts.begin(), sum.hosts.end(),
                     [&](const HostInfo& host) { return host.host_name == more.hosts.front().host_name; }))
      sum.hosts.push_back(more.hosts.front());
    reports.push_back(std::move(more.report));
    offsets.push_back(static_cast<std::int64_t>(more.hosts.front().wall_offset_ns));
  }
  if (all.size() > 1) {
    sum.parts = 0;
    sum.tools_over_time.clear();
    sum.tasks_over_time.clear();
    sum.over_time = {};
  }
  std::stable_sort(sum.processes.begin(), sum.processes.end(), [](const ListedProcess& a, const ListedProcess& b) {
    return a.cpu_ns.value_or(0) > b.cpu_ns.value_or(0);
  });
  if (sum.processes.size() > most_processes) sum.processes.resize(most_processes);
  sum.report = sum_of_reports(reports, offsets);
  return sum;
}

}  // namespace tracer::internal
