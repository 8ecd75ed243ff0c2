// SPDX-License-Identifier: Apache-2.0
#include "context/proven_owners.hpp"

namespace tracer::internal {

void ProvenOwners::note(const Process& process, std::uint64_t since_ns, uid_t user) {
  const ProcessId id{process.start_ns, process.pid};
  const std::lock_guard lock(mutex_);
  if (!noted_.insert_or_assign(id, Noted{since_ns, user}).second) return;
  order_.push_back(id);
  while (order_.size() > kMost || (!order_.empty() && !noted_.contains(order_.front()))) {
    noted_.erase(order_.front());
    order_.pop_front();
  }
}

std::optional<uid_t> ProvenOwners::take(const Process& process, std::uint64_t time_ns) {
  const std::lock_guard lock(mutex_);
  if (noted_.empty()) return std::nullopt;
  const auto noted = noted_.find({process.start_ns, process.pid});
  if (noted == noted_.end() || time_ns < noted->second.since_ns) return std::nullopt;
  const uid_t user = noted->second.user;
  noted_.erase(noted);
  return user;
}

}  // namespace tracer::internal
