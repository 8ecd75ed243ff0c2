// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/visit/living_tree.hpp"

#include <algorithm>

namespace tracer::internal {

std::span<const std::uint32_t> LivingTree::name(std::size_t most) {
  const auto now = std::span(to_name_).first(std::min(most, to_name_.size()));
  named_.insert(now.begin(), now.end());
  children_.clear();
  contexts_.clear();
  adopted_ = false;
  return now;
}

bool LivingTree::see(const tracer_wire_thread& thread) {
  const std::uint32_t pid = thread.header.pid;
  adopted_ = adopted_ || thread.newly_adopted != 0;
  // The last record of a process is the latest.
  if (contexts_.insert_or_assign(pid, thread.identity.context_id).second)
    children_.emplace(thread.identity.parent_pid, pid);
  return thread.identity.context_id == context_id_ && named_.erase(pid) != 0;
}

void LivingTree::visited() {
  std::set<std::uint32_t> members;
  to_name_.clear();
  std::vector<std::uint32_t> open = {top_};
  while (!open.empty()) {
    const std::uint32_t pid = open.back();
    open.pop_back();
    if (!members.insert(pid).second) continue;
    const auto context = contexts_.find(pid);
    if (context != contexts_.end() && context->second != context_id_) to_name_.push_back(pid);
    for (auto [at, end] = children_.equal_range(pid); at != end; ++at) open.push_back(at->second);
  }
  done_ = to_name_.empty() && !adopted_;
}

}  // namespace tracer::internal
