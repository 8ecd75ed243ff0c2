// SPDX-License-Identifier: Apache-2.0
/// For which other tasks a task waits: those that have the other ends of its pipes.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "context/task_name.hpp"
#include "insight/task_ledgers.hpp"

namespace tracer::internal {
namespace {

/// Less is not worth a word: programs begin and end within less, and wait meanwhile for those that do later.
constexpr std::uint64_t kLeastAwaited_ns = 50'000'000;

}  // namespace

/// The task of the process that had this pid at that time. Null: it was in none, or several had it.
std::shared_ptr<TaskLedgers::Scope> TaskLedgers::task_with(std::uint32_t pid, std::uint64_t from_ns,
                                                           std::uint64_t to_ns) const {
  const auto living = members_.find(pid);
  const auto ended = ended_.find(pid);
  const bool lived = living != members_.end() && living->second.start_ns <= to_ns;
  const bool ended_then = ended != ended_.end() && ended->second.start_ns <= to_ns && ended->second.end_ns >= from_ns;
  if (lived == ended_then) return nullptr;
  if (ended_then) return ended->second.earlier_end_ns < from_ns ? ended->second.task : nullptr;
  const auto& scopes = living->second.scopes;
  const auto task = std::find_if(scopes.begin(), scopes.end(), [](const auto& each) { return !each->is_run; });
  return task == scopes.end() ? nullptr : *task;
}

/// A wait in a pipe, whose other end `peer` had.
void TaskLedgers::add_wait(Scope& scope, const LifeSpan& span, const std::optional<std::uint32_t>& peer,
                           std::uint64_t wait_ns) {
  if (scope.is_run || wait_ns == 0 || !peer || scope.pids.contains(*peer)) return;
  const auto other = task_with(*peer, span.from_ns, span.to_ns);
  if (other.get() == &scope) return;
  Waits& waits = scope.waits;
  waits.all_ns += wait_ns;
  // A user's tasks are not named to others.
  if (!other || other->context->owner_uid != scope.context->owner_uid) return;
  const auto known = std::find_if(waits.for_tasks.begin(), waits.for_tasks.end(),
                                  [&](const auto& each) { return each.first.lock() == other; });
  if (known != waits.for_tasks.end()) {
    known->second += wait_ns;
  } else if (waits.for_tasks.size() < kMostOthers) {
    waits.for_tasks.emplace_back(other, wait_ns);
  }
}

/// Waits of several processes at the same time are one of the task, and what it computed meanwhile was none: each other
/// task has its part of the time for which the task as a whole waited for pipes.
std::vector<AwaitedTask> TaskLedgers::awaited_by(const Scope& task, std::uint64_t pipe_ns) {
  std::vector<AwaitedTask> awaited;
  for (const auto& [scope, wait_ns] : task.waits.for_tasks) {
    const auto other = scope.lock();
    const double share = static_cast<double>(wait_ns) / static_cast<double>(task.waits.all_ns);
    const auto part_ns = std::min(wait_ns, static_cast<std::uint64_t>(share * static_cast<double>(pipe_ns)));
    if (other && other->context->task_key && part_ns >= kLeastAwaited_ns)
      awaited.push_back({*other->context->task_key, task_name(*other->context), part_ns});
  }
  std::stable_sort(awaited.begin(), awaited.end(), [](const auto& a, const auto& b) { return a.wait_ns > b.wait_ns; });
  if (awaited.size() > TaskFinish::kMostAwaited) awaited.resize(TaskFinish::kMostAwaited);
  return awaited;
}

/// Who waited for it may be heard of later.
void TaskLedgers::keep_end(const Member& member, std::uint32_t pid) {
  const auto task =
      std::find_if(member.scopes.begin(), member.scopes.end(), [](const auto& each) { return !each->is_run; });
  if (task == member.scopes.end()) return;
  Ended& kept = ended_[pid];
  kept = {member.start_ns, member.last_ns, kept.end_ns, *task};
  ended_order_.emplace_back(pid, member.start_ns);
  if (ended_order_.size() <= kMostEnded) return;
  const auto [oldest, start_ns] = ended_order_.front();
  ended_order_.pop_front();
  if (const auto found = ended_.find(oldest); found != ended_.end() && found->second.start_ns == start_ns)
    ended_.erase(found);
}

}  // namespace tracer::internal
