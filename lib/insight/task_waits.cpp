// SPDX-License-Identifier: Apache-2.0
/// For which other tasks a task waits: those that have the other ends of its pipes and local sockets, or its locks.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "context/same_owner.hpp"
#include "context/task_name.hpp"
#include "insight/task_ledgers.hpp"

namespace tracer::internal {
namespace {

/// Less is not worth a word: programs begin and end within less, and wait meanwhile for those that do later.
constexpr std::uint64_t kLeastAwaited_ns = 50'000'000;

struct Way {
  std::uint64_t TaskLedger::*cause_ns;
  const char* name;
};
/// By WaitBy.
constexpr Way kWays[] = {
    {&TaskLedger::pipe_ns, "pipe"}, {&TaskLedger::local_socket_ns, "local socket"}, {&TaskLedger::lock_ns, "lock"}};

}  // namespace

std::uint64_t TaskLedgers::like_part(std::uint64_t process_ns, std::uint64_t part_ns,
                                     std::uint64_t threads_ns) noexcept {
  if (part_ns >= threads_ns) return part_ns == 0 ? 0 : process_ns;
  const double share = static_cast<double>(part_ns) / static_cast<double>(threads_ns);
  return static_cast<std::uint64_t>(share * static_cast<double>(process_ns));
}

/// What others of the task ended was no wait of it. `threads`: so far.
ProcessLedger TaskLedgers::without_inside(const ProcessLedger& span, const Scope& scope, const Ledger& threads) {
  ProcessLedger left = span;
  if (threads.local_socket_peer_pid && scope.pids.contains(*threads.local_socket_peer_pid))
    left.local_socket_ns -= like_part(span.local_socket_ns, threads.local_socket_peer_ns, threads.local_socket_ns);
  if (threads.lock_peer_pid && scope.pids.contains(*threads.lock_peer_pid))
    left.lock_ns -= like_part(span.lock_ns, threads.lock_peer_ns, threads.lock_ns);
  return left;
}

/// The task of the process that had this pid at that time. Null: it was in none, or several had it.
TaskLedgers::ScopePtr TaskLedgers::task_with(std::uint32_t pid, std::uint64_t from_ns, std::uint64_t to_ns) const {
  const auto living = members_.find(pid);
  const Ended* const ended = ended_.find(pid);
  const bool lived = living != members_.end() && living->second.start_ns <= to_ns;
  const bool ended_then = ended != nullptr && ended->start_ns <= to_ns && ended->end_ns >= from_ns;
  if (lived == ended_then) return nullptr;
  if (ended_then) return ended->earlier_end_ns < from_ns ? ended->task : nullptr;
  const auto& scopes = living->second.scopes;
  const auto task = std::find_if(scopes.begin(), scopes.end(), [](const auto& each) { return !each->who->is_run; });
  return task == scopes.end() ? nullptr : *task;
}

/// A wait that `peer` ended.
void TaskLedgers::add_wait(Scope& scope, const LifeSpan& span, WaitBy by, const std::optional<std::uint32_t>& peer,
                           std::uint64_t wait_ns) {
  if (scope.who->is_run || wait_ns == 0 || !peer || scope.pids.contains(*peer)) return;
  const auto other = task_with(*peer, span.from_ns, span.to_ns);
  if (other.get() == &scope) return;
  Waits& waits = scope.waits;
  waits.all_ns[static_cast<std::size_t>(by)] += wait_ns;
  // A user's tasks are not named to others.
  if (!other || !same_owner(*other->who->context, *scope.who->context)) return;
  const auto known = std::find_if(waits.for_tasks.begin(), waits.for_tasks.end(),
                                  [&](const auto& each) { return each.by == by && each.task.lock() == other; });
  if (known != waits.for_tasks.end()) {
    known->wait_ns += wait_ns;
  } else if (waits.for_tasks.size() < kMostOthers) {
    waits.for_tasks.push_back({other, by, wait_ns});
  }
}

/// Of its whole life: whom it waited for by local sockets and locks. For whom the rest of these was is not known.
void TaskLedgers::add_waits_at_end(const Member& member, const ProcessExit& exit) {
  const auto& threads = exit.account.ledger;
  const auto& process = exit.account.process_ledger;
  if (!threads || !process) return;
  const LifeSpan life{member.begin_ns, exit.end_ns};
  const auto add = [&](WaitBy by, const std::optional<std::uint32_t>& peer, std::uint64_t peer_ns,
                       std::uint64_t threads_ns, std::uint64_t process_ns) {
    const std::uint64_t part_ns = peer ? like_part(process_ns, peer_ns, threads_ns) : 0;
    for (const auto& each : member.scopes) {
      each->waits.all_ns[static_cast<std::size_t>(by)] += process_ns - part_ns;
      add_wait(*each, life, by, peer, part_ns);
    }
  };
  add(WaitBy::kLocalSocket, threads->local_socket_peer_pid, threads->local_socket_peer_ns, threads->local_socket_ns,
      process->local_socket_ns);
  add(WaitBy::kLock, threads->lock_peer_pid, threads->lock_peer_ns, threads->lock_ns, process->lock_ns);
}

/// Waits of several processes at the same time are one of the task, and what it computed meanwhile was none: each other
/// task has its part of the time for which the task as a whole waited for that cause.
std::vector<AwaitedTask> TaskLedgers::awaited_by(const Scope& task, const TaskLedger& ledger) {
  std::vector<AwaitedTask> awaited;
  for (const auto& each : task.waits.for_tasks) {
    const auto other = each.task.lock();
    const auto by = static_cast<std::size_t>(each.by);
    const std::uint64_t part_ns =
        std::min(each.wait_ns, like_part(ledger.*kWays[by].cause_ns, each.wait_ns, task.waits.all_ns[by]));
    if (other && other->who->context->task_key && part_ns >= kLeastAwaited_ns)
      awaited.push_back({*other->who->context->task_key, task_name(*other->who->context), part_ns, kWays[by].name});
  }
  std::stable_sort(awaited.begin(), awaited.end(), [](const auto& a, const auto& b) { return a.wait_ns > b.wait_ns; });
  if (awaited.size() > TaskFinish::kMostAwaited) awaited.resize(TaskFinish::kMostAwaited);
  return awaited;
}

/// Who waited for it may be heard of later.
void TaskLedgers::keep_end(const Member& member, std::uint32_t pid) {
  const auto task =
      std::find_if(member.scopes.begin(), member.scopes.end(), [](const auto& each) { return !each->who->is_run; });
  if (task == member.scopes.end()) return;
  const Ended* const earlier = ended_.find(pid);
  ended_.put(pid, (*task)->who->context->owner_uid, 0,
             {member.start_ns, member.last_ns, earlier == nullptr ? 0 : earlier->end_ns, *task});
}

}  // namespace tracer::internal
