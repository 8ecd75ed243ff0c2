// SPDX-License-Identifier: Apache-2.0
#include "report/compared_runs.hpp"

#include <array>
#include <optional>
#include <set>

#include "base/order_statistics.hpp"

namespace tracer::internal {
namespace {

/// Of one step; the newest.
constexpr std::size_t kMostPast = 200;

std::array<std::optional<std::uint64_t>, kMeasures.size()> figures_of(const PastTask& task) {
  return {task.wall_ns, task.cpu_ns, task.peak_bytes, task.read_bytes, task.written_bytes};
}

void add_task(ComparedRow& row, const PastTask& task, std::size_t most) {
  const auto figures = figures_of(task);
  for (std::size_t i = 0; i < figures.size(); ++i)
    if (figures[i] && row.values[i].size() < most) row.values[i].push_back(static_cast<double>(*figures[i]));
}

}  // namespace

std::vector<HistoryRun> runs_named(const std::vector<HistoryRun>& runs, std::string_view key) {
  std::vector<HistoryRun> found;
  for (const HistoryRun& run : runs)
    if (!key.empty() && run.run_key.starts_with(key)) found.push_back(run);
  return found;
}

ComparedSide side_of_run(const std::vector<PastTask>& tasks, const HistoryRun& run) {
  ComparedSide side;
  side.wall_ns = static_cast<double>(run.wall_ns);
  side.outcome = run.outcome;
  side.tasks = run.tasks;
  for (const PastTask& task : tasks) {
    if (task.run_key != run.run_key || task.outcome == Outcome::kNotKnown) continue;
    ComparedRow& row = side.steps[task.kind.step];
    ++row.ended;
    row.time_is_whole = false;
    if (!is_failure(task.outcome)) {
      add_task(row, task, tasks.size());
      continue;
    }
    ++row.failed;
    if (!task.task_key.empty()) ++side.failed_tasks;
  }
  return side;
}

UsualSpreads spreads_beside(const std::vector<PastTask>& tasks, std::string_view run_a, std::string_view run_b) {
  std::set<TaskKind> kinds;
  for (const PastTask& task : tasks)
    if (task.run_key == run_a || task.run_key == run_b) kinds.insert(task.kind);
  ComparedRows others;
  for (const PastTask& task : tasks)
    if (task.run_key != run_a && task.run_key != run_b && task.outcome == Outcome::kSucceeded &&
        kinds.contains(task.kind))
      add_task(others[task.kind.step], task, kMostPast);
  UsualSpreads spreads;
  for (auto& [step, row] : others)
    for (std::size_t i = 0; i < kMeasures.size(); ++i)
      if (row.values[i].size() >= History::kLeast)
        spreads[step][i] = spread_of(row.values[i], median_of(row.values[i]));
  return spreads;
}

}  // namespace tracer::internal
