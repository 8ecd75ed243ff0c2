// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/living_tree.hpp"

#include <algorithm>
#include <map>

namespace tracer::internal {

std::span<const std::uint32_t> LivingTree::to_name(std::size_t most) const {
  return std::span(to_name_).first(std::min(most, to_name_.size()));
}

void LivingTree::visited(std::span<const tracer_wire_thread> threads) {
  std::multimap<std::uint32_t, std::uint32_t> children;
  std::map<std::uint32_t, std::uint32_t> contexts;
  bool adopted = false;
  for (const tracer_wire_thread& thread : threads) {
    const std::uint32_t pid = thread.header.pid;
    adopted = adopted || thread.newly_adopted != 0;
    // The last record of a process is the latest.
    if (contexts.insert_or_assign(pid, thread.identity.context_id).second)
      children.emplace(thread.identity.parent_pid, pid);
  }
  to_name_.clear();
  members_.clear();
  std::vector<std::uint32_t> open = {top_};
  while (!open.empty()) {
    const std::uint32_t pid = open.back();
    open.pop_back();
    if (!members_.insert(pid).second) continue;
    const auto context = contexts.find(pid);
    if (context != contexts.end() && context->second != context_id_) to_name_.push_back(pid);
    for (auto [at, end] = children.equal_range(pid); at != end; ++at) open.push_back(at->second);
  }
  done_ = to_name_.empty() && !adopted;
}

bool LivingTree::changed(const tracer_wire_thread& thread) {
  return thread.identity.context_id == context_id_ && members_.contains(thread.header.pid) &&
         told_.insert(thread.header.pid).second;
}

}  // namespace tracer::internal
