// SPDX-License-Identifier: Apache-2.0
#include "report/sums/run_folder.hpp"

#include <algorithm>
#include <utility>

namespace tracer::internal {
std::string nearest_above(const std::string& a, const std::string& b) {
  const auto ends = [](const std::string& path, std::size_t at) { return at == path.size() || path[at] == '/'; };
  const auto [at_a, at_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  auto end = static_cast<std::size_t>(at_a - a.begin());
  while (!ends(a, end) || !ends(b, end)) --end;
  return a.substr(0, end);
}

void RunFolder::add(const Event& event) {
  // What becomes known of a run later gives it another key.
  if (const auto* change = event.get_if<ContextChange>();
      change != nullptr && change->old_run_key && !change->pid && change->after->run_key && runs_.size() < kMostRuns)
    runs_.insert(*change->after->run_key);
  const auto* exec = event.get_if<ProcessExec>();
  if (exec == nullptr || runs_.size() >= kMostRuns) return;
  const std::optional<Key>& run = exec->process->context->run_key;
  const std::optional<std::string>& cwd = exec->process->program->cwd;
  if (!run || !cwd || !cwd->starts_with('/') || !runs_.insert(*run).second) return;
  const std::string folder = *cwd == "/" ? "" : *cwd;
  path_ = path_ ? nearest_above(*path_, folder) : folder;
}

}  // namespace tracer::internal
