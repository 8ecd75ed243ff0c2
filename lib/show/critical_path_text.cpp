// SPDX-License-Identifier: Apache-2.0
#include "show/critical_path_text.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "show/figures.hpp"
#include "show/printable.hpp"
#include "show/screen.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostRunsWithPath = 5;
constexpr std::size_t kMostPathName = 40;
constexpr std::size_t kMostOnPath = 5;

}  // namespace

std::string format_path(const CriticalPath& path, Figure run_ns) {
  const bool alone = path.tasks.size() == 1;
  std::string out = alone ? "The longest task, " : "The longest chain of tasks, ";
  for (std::size_t i = 0; i < std::min(path.tasks.size(), kMostOnPath); ++i)
    out += printable(path.tasks[i].name, kMostPathName) + ", ";
  if (path.tasks.size() > kMostOnPath) out += fmt::format("and {} more, ", path.tasks.size() - kMostOnPath);
  out += fmt::format("took {} of {}{}: more tasks at once can't make the run shorter than that.",
                     format_duration(path.at_least_ns), format_figure(run_ns, format_duration),
                     alone ? "" : ", by the files that they passed on");
  const std::string most = path.at_most_ns > path.at_least_ns ? format_duration(path.at_most_ns) : "";
  if (!path.by_files) {
    out += " The order in which tasks needed each other isn't known" +
           (most.empty() ? "" : "; no chain of them took more than " + most) + '.';
  } else if (!most.empty()) {
    out += " Counting needs other than files, the longest chain took at most " + most + '.';
  }
  // Of a part of a percent nobody wants to know.
  if (path.without_task_ns.value_or(0) > run_ns.value / 100)
    out += fmt::format(" For {} no task ran.", format_duration(*path.without_task_ns));
  return out + '\n';
}

std::string format_paths(const Report& report) {
  std::vector<std::pair<const CriticalPath*, const ReportRow*>> runs;
  for (const CriticalPath& path : report.critical_paths) {
    const auto run = std::find_if(report.tree.begin(), report.tree.end(), [&](const ReportNode& node) {
      return node.level == SummaryLevel::kRun && node.row.task.run_key == path.run_key;
    });
    if (run != report.tree.end() && run->row.tasks && run->row.tasks->value > 1) runs.emplace_back(&path, &run->row);
  }
  std::string out;
  for (std::size_t i = 0; i < runs.size() && i < kMostRunsWithPath; ++i) {
    const auto& [path, run] = runs[i];
    out += i == 0 ? "\n" : "";
    if (runs.size() > 1) out += fmt::format("run {}: ", printable(run->name, kMostPathName));
    out += format_path(*path, {run->wall_ns, run->wall_bound});
  }
  if (runs.size() > kMostRunsWithPath)
    out += fmt::format("{} and of {}\n", symbols().ellipsis,
                       format_count(runs.size() - kMostRunsWithPath, "more run", "more runs"));
  return out;
}

}  // namespace tracer::internal
