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
constexpr std::size_t kMostRunName = 40;

}  // namespace

std::string format_path(const CriticalPath& path, Figure run_ns) {
  std::string out = fmt::format("critical path: {}, {} of {}", format_count(path.tasks.size(), "task", "tasks"),
                                format_duration(path.at_least_ns), format_figure(run_ns, format_duration));
  out +=
      path.by_files ? ", by the files that they passed on" : "; what tasks need is not known: this is the longest one";
  if (path.at_most_ns > path.at_least_ns)
    out += fmt::format(" (at most {}: tasks that did not overlap)", format_duration(path.at_most_ns));
  if (path.without_task_ns) out += fmt::format("; no task ran for {}", format_duration(*path.without_task_ns));
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
    if (runs.size() > 1) out += fmt::format("run {}: ", printable(run->name, kMostRunName));
    out += format_path(*path, {run->wall_ns, run->wall_bound});
  }
  if (runs.size() > kMostRunsWithPath)
    out += fmt::format("{} {} more runs have one\n", symbols().ellipsis, runs.size() - kMostRunsWithPath);
  return out;
}

}  // namespace tracer::internal
