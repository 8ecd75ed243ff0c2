// SPDX-License-Identifier: Apache-2.0
#include "report/awaited_tasks.hpp"

#include <algorithm>

namespace tracer::internal {
namespace {

/// Less is not worth a word: programs begin and end within less, and wait meanwhile for those that do later.
constexpr std::uint64_t kLeastWait_ns = 50'000'000;

}  // namespace

void AwaitedTasks::saw(const Process& process, std::uint64_t time_ns, const Account& account) {
  const Id id{process.pid, process.start_ns};
  if (!process.context->task_key || (members_.size() >= kMost && !members_.contains(id))) return;
  Member& member = members_[id];
  member.task = *process.context->task_key;
  member.end_ns = time_ns;
  if (!account.ledger || !account.process_ledger) return;
  member.reads = {account.process_ledger->pipe_read_ns, account.ledger->pipe_read_peer_pid};
  member.writes = {account.process_ledger->pipe_write_ns, account.ledger->pipe_write_peer_pid};
}

void AwaitedTasks::add(const Event& event) {
  if (const auto* exit = event.get_if<ProcessExit>()) return saw(*exit->process, exit->end_ns, exit->account);
  if (const auto* sample = event.get_if<ProcessSample>())
    return saw(*sample->process, sample->time_ns, sample->account);
  const auto* change = event.get_if<ContextChange>();
  if (change == nullptr || change->pid || !change->old_task_key || !change->after->task_key) return;
  for (auto& [id, member] : members_)
    if (member.task == *change->old_task_key) member.task = *change->after->task_key;
}

/// Null: it was in no task, or several had this pid while `member` lived.
const AwaitedTasks::Member* AwaitedTasks::peer_of(const Id& id, const Member& member, std::uint32_t pid) const {
  const Member* found = nullptr;
  for (auto at = members_.lower_bound({pid, 0}); at != members_.end() && at->first.first == pid; ++at) {
    if (at->first.second > member.end_ns || at->second.end_ns < id.second) continue;
    if (found != nullptr) return nullptr;
    found = &at->second;
  }
  return found;
}

std::vector<std::pair<Key, std::uint64_t>> AwaitedTasks::awaited_by(Key task, std::uint64_t pipe_ns) const {
  std::map<Key, std::uint64_t> waits;
  std::uint64_t all_ns = 0;
  for (const auto& [id, member] : members_) {
    if (member.task != task) continue;
    for (const Waits* each : {&member.reads, &member.writes}) {
      if (!each->peer_pid || each->wait_ns == 0) continue;
      const Member* const peer = peer_of(id, member, *each->peer_pid);
      // Waits inside the task are not in `pipe_ns`.
      if (peer != nullptr && peer->task == task) continue;
      all_ns += each->wait_ns;
      if (peer != nullptr) waits[peer->task] += each->wait_ns;
    }
  }
  std::vector<std::pair<Key, std::uint64_t>> parts;
  for (const auto& [other, wait_ns] : waits) {
    // Waits of several processes at the same time are one of the task, and what it computed meanwhile was none.
    const double share = static_cast<double>(wait_ns) / static_cast<double>(all_ns);
    const auto part_ns = std::min(wait_ns, static_cast<std::uint64_t>(share * static_cast<double>(pipe_ns)));
    if (part_ns >= kLeastWait_ns) parts.emplace_back(other, part_ns);
  }
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return parts;
}

}  // namespace tracer::internal
