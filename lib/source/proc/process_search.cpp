// SPDX-License-Identifier: Apache-2.0
#include "source/proc/process_search.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>

namespace tracer::internal {

/// Parents before their children, but for those that began in the same tick.
ProcessSearch::Seen ProcessSearch::living_in_order() const {
  Seen all;
  for (const std::uint32_t pid : files_.pids())
    if (auto stat = files_.stat(pid)) all.emplace_back(pid, std::move(*stat));
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.started_from_ns, a.first) < std::pair(b.second.started_from_ns, b.first);
  });
  return all;
}

bool ProcessSearch::consider(std::uint32_t pid, const ProcStat& stat, bool at_start, Feed& feed) {
  if ((stat.flags & kKernelThread) != 0) return false;
  ProcessChoice::Candidate candidate;
  candidate.pid = pid;
  candidate.at_start = at_start;
  const auto parent = processes_.all().find(stat.parent_pid);
  if (parent != processes_.all().end()) {
    candidate.parents = parent->second.identity().context_id;
  } else if (!at_start && !choice_.looks_beyond_trees()) {
    return false;
  }
  const auto status = files_.status(pid);
  if (!status) return false;
  candidate.uid = status->uid;
  if (choice_.needs_cgroups())
    if (auto cgroup = files_.cgroup(pid)) candidate.cgroup = std::move(cgroup->second);
  if (pruned_.contains(stat.parent_pid) || choice_.excludes(candidate)) {
    pruned_.insert(pid);
    return false;
  }
  const auto context_id = choice_.choose(candidate);
  return context_id && processes_.adopt(pid, stat, *context_id, foreign_.erase(pid) != 0, feed);
}

/// A child may be listed before its parent.
void ProcessSearch::consider_all(const Seen& seen, bool at_start, Feed& feed) {
  for (bool more = true; more;) {
    more = false;
    for (const auto& [pid, stat] : seen)
      if (processes_.find(pid, stat) == nullptr && !pruned_.contains(pid) && !is_for_labels(stat))
        more = consider(pid, stat, at_start, feed) || more;
  }
}

void ProcessSearch::take_in_living(Feed& feed) { consider_all(living_in_order(), true, feed); }

void ProcessSearch::track(std::uint32_t pid, std::uint32_t context_id, Feed& feed) {
  const Seen living = living_in_order();
  std::set<std::uint32_t> tree = {pid};
  for (std::size_t before = 0; before != tree.size();) {
    before = tree.size();
    for (const auto& [each, stat] : living)
      if (tree.contains(stat.parent_pid)) tree.insert(each);
  }
  for (const auto& [each, stat] : living) {
    if (!tree.contains(each)) continue;
    if (PolledProcess* const known = processes_.find(each, stat)) {
      processes_.relabel(*known, context_id, feed);
    } else {
      processes_.adopt(each, stat, context_id, foreign_.erase(each) != 0, feed);
    }
  }
}

void ProcessSearch::take_in_new(Feed& feed) {
  take_labeled(feed);
  const auto load = files_.load();
  const bool came_again = processes_.take_came_again();
  // No pid was given since.
  if (load && load->last_pid == last_pid_ && !came_again) return;
  std::uint64_t threads = 0;
  for (const auto& [pid, process] : processes_.all()) threads += process.told_end ? 0 : process.stat().threads;
  // An entry of a folder costs about an eighth of a file.
  constexpr std::uint64_t kEntriesPerFile = 8;
  constexpr std::uint64_t kFew = 16;
  if (!choice_.looks_beyond_trees() && files_.lists_children() &&
      (threads <= kFew || (load && threads * kEntriesPerFile <= load->threads))) {
    search_children(feed);
  } else {
    search_all(feed);
  }
  if (load) last_pid_ = load->last_pid;
}

/// Of this process's children, those that are new come with what their threads said of them. What has a label is
/// followed whatever the filter takes in.
void ProcessSearch::take_labeled(Feed& feed) {
  if (!labels_.in_use()) return;
  for (const ProcLabels::Child& child : labels_.take_new()) {
    const auto stat = files_.stat(child.pid);
    if (!stat || stat->started_from_ns != child.started_ns || processes_.find(child.pid, *stat) != nullptr) continue;
    if (child.context_id == 0) {
      consider(child.pid, *stat, false, feed);
    } else {
      processes_.adopt(child.pid, *stat, child.context_id, foreign_.erase(child.pid) != 0, feed);
    }
  }
}

bool ProcessSearch::is_for_labels(const ProcStat& stat) const {
  return stat.parent_pid == static_cast<std::uint32_t>(::getpid()) && labels_.in_use();
}

void ProcessSearch::search_children(Feed& feed) {
  std::vector<std::uint32_t> open;
  for (const auto& [pid, process] : processes_.all())
    if (!process.told_end) open.push_back(pid);
  while (!open.empty()) {
    const std::uint32_t parent = open.back();
    open.pop_back();
    const auto known = processes_.all().find(parent);
    if (known == processes_.all().end()) continue;
    const auto threads = known->second.stat().threads > 1 ? files_.threads(parent) : std::vector{parent};
    for (const std::uint32_t tid : threads)
      for (const std::uint32_t pid : files_.children(parent, tid)) {
        if (processes_.contains(pid) || pruned_.contains(pid)) continue;
        const auto stat = files_.stat(pid);
        if (stat && !is_for_labels(*stat) && consider(pid, *stat, false, feed)) open.push_back(pid);
      }
  }
  std::erase_if(pruned_, [this](std::uint32_t pid) { return files_.is_gone(pid); });
}

void ProcessSearch::search_all(Feed& feed) {
  const std::vector<std::uint32_t> pids = files_.pids();
  // The folder could not be read: nothing has become known.
  if (pids.empty()) return;
  const std::set<std::uint32_t> living(pids.begin(), pids.end());
  std::erase_if(foreign_, [&](std::uint32_t pid) { return !living.contains(pid); });
  std::erase_if(pruned_, [&](std::uint32_t pid) { return !living.contains(pid); });
  Seen fresh;
  for (const std::uint32_t pid : pids) {
    if (processes_.contains(pid) || foreign_.contains(pid)) continue;
    if (auto stat = files_.stat(pid)) fresh.emplace_back(pid, std::move(*stat));
  }
  consider_all(fresh, false, feed);
  for (const auto& [pid, stat] : fresh) {
    if (processes_.contains(pid) || is_for_labels(stat)) continue;
    if (foreign_.insert(pid).second) processes_.saw(stat);
  }
}

}  // namespace tracer::internal
