// SPDX-License-Identifier: Apache-2.0
#include "report/sums/critical_path.hpp"

#include <algorithm>
#include <unordered_map>

namespace tracer::internal {
namespace {

constexpr std::size_t kNoTask = static_cast<std::size_t>(-1);

/// The longest chain that ends with a task, and the one before it.
struct LongestChain {
  std::uint64_t length_ns = 0;
  std::size_t before = kNoTask;
};

/// A task that begins or ends.
struct Turn {
  std::uint64_t time_ns = 0;
  bool begins = false;
  std::size_t task = 0;
};

/// What ends comes before what begins at the same time: that may have waited for it.
std::vector<Turn> turns_of(const std::vector<TaskSpan>& tasks) {
  std::vector<Turn> turns;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    turns.push_back({tasks[i].begin_ns, true, i});
    turns.push_back({std::max(tasks[i].begin_ns, tasks[i].end_ns), false, i});
  }
  std::stable_sort(turns.begin(), turns.end(), [&](const Turn& a, const Turn& b) {
    if (a.time_ns != b.time_ns) return a.time_ns < b.time_ns;
    // One that takes no time begins before it ends.
    const auto is_point = [&](const Turn& turn) { return tasks[turn.task].begin_ns >= tasks[turn.task].end_ns; };
    const auto order = [&](const Turn& turn) { return is_point(turn) ? 1 : turn.begins ? 2 : 0; };
    return order(a) < order(b);
  });
  return turns;
}

}  // namespace

LongestPath path_by_files(const std::vector<TaskSpan>& tasks, const std::vector<TaskFile>& files) {
  std::vector<std::vector<std::size_t>> read(tasks.size());
  std::vector<std::vector<std::size_t>> written(tasks.size());
  for (const TaskFile& each : files) {
    if (each.task >= tasks.size()) continue;
    if (each.reads) read[each.task].push_back(each.file);
    if (each.writes) written[each.task].push_back(each.file);
  }
  std::vector<LongestChain> chains(tasks.size());
  std::unordered_map<std::size_t, std::size_t> writer_of;  ///< By file: that with the longest chain.
  std::size_t last = kNoTask;
  for (const Turn& turn : turns_of(tasks)) {
    LongestChain& chain = chains[turn.task];
    if (turn.begins) {
      for (const std::size_t file : read[turn.task]) {
        const auto writer = writer_of.find(file);
        if (writer == writer_of.end() || chains[writer->second].length_ns <= chain.length_ns) continue;
        chain = {chains[writer->second].length_ns, writer->second};
      }
      continue;
    }
    chain.length_ns += turn.time_ns - tasks[turn.task].begin_ns;
    if (last == kNoTask || chain.length_ns > chains[last].length_ns) last = turn.task;
    for (const std::size_t file : written[turn.task]) {
      const auto [writer, fresh] = writer_of.try_emplace(file, turn.task);
      if (!fresh && chain.length_ns > chains[writer->second].length_ns) writer->second = turn.task;
    }
  }
  LongestPath path;
  if (last == kNoTask) return path;
  path.length_ns = chains[last].length_ns;
  for (std::size_t at = last; at != kNoTask; at = chains[at].before) path.tasks.push_back(at);
  std::reverse(path.tasks.begin(), path.tasks.end());
  return path;
}

LongestPath path_by_times(const std::vector<TaskSpan>& tasks) {
  // As if each needed all that ended before it.
  std::vector<TaskFile> all;
  for (std::size_t i = 0; i < tasks.size(); ++i) all.push_back({i, 0, true, true});
  return path_by_files(tasks, all);
}

}  // namespace tracer::internal
