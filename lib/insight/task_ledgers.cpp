// SPDX-License-Identifier: Apache-2.0
#include "insight/task_ledgers.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "base/process_schema.hpp"
#include "base/sums.hpp"
#include "state/counted_tasks.hpp"

namespace tracer::internal {
namespace {

/// The time of a run without tasks, where it has some.
std::uint64_t without_tasks_ns(std::uint64_t first_task_ns, std::uint64_t between_ns, bool none_runs,
                               std::uint64_t no_task_since_ns, std::uint64_t begin_ns, std::uint64_t now_ns) {
  return between_ns + first_task_ns - std::min(first_task_ns, begin_ns) +
         (none_runs ? now_ns - std::min(now_ns, no_task_since_ns) : 0);
}

/// A poll that lasts is one in a sample, and so is a sleep. When it has ended, all of it may have been a wait for
/// something else: of that, `part_ns` keeps what came after the sample, and what came before is returned.
std::uint64_t take_off_polls(std::uint64_t& polled_ns, std::uint64_t& part_ns) {
  const std::uint64_t before_ns = std::min(polled_ns, part_ns);
  polled_ns -= before_ns;
  part_ns -= before_ns;
  return before_ns;
}

}  // namespace

TaskLedgers::ScopePtr TaskLedgers::scope(const Book::ScopePtr& who, std::uint64_t begin_ns) {
  if (!who) return nullptr;
  ScopePtr& known = scopes_[who->id];
  if (!known) known = std::make_shared<Scope>(who, begin_ns, cpus_);
  return known;
}

TaskLedgers::ScopePtr TaskLedgers::find(const Context& context, bool is_run) const {
  const auto known = scopes_.find(book_.id_of(context, is_run));
  return known == scopes_.end() ? nullptr : known->second;
}

/// Processes may still be in it.
void TaskLedgers::gone(ScopeId id, ScopeId into) {
  const auto known = scopes_.find(id);
  if (known == scopes_.end()) return;
  const ScopePtr scope_gone = known->second;
  scopes_.erase(known);
  scope_gone->whole = false;
  if (counts_ != nullptr) scope_gone->counted.end(*counts_, scope_gone->wall);
  if (const ScopePtr other = scope(book_.find(into), scope_gone->begin_ns)) other->whole = false;
}

std::vector<TaskLedgers::ScopePtr> TaskLedgers::scopes_of(const Context& context, std::uint64_t begin_ns) {
  std::vector<ScopePtr> all;
  for (const Book::ScopePtr& each : book_.around(context)) all.push_back(scope(each, begin_ns));
  return all;
}

/// Sets of CPUs of processes that came from outside may differ: together they have no more than the sum.
std::uint32_t TaskLedgers::cpus_of(const Scope& scope) const noexcept {
  if (scope.entries.empty() || scope.entries.size() >= kMostEntries) return cpus_;
  std::uint64_t cpus = 0;
  for (const auto& [pid, allowed] : scope.entries) cpus += allowed.value_or(cpus_);
  cpus = std::max<std::uint64_t>(cpus, scope.most_inside_cpus);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(cpus, cpus_));
}

void TaskLedgers::place(Member& member, const Process& process) {
  if (member.context == process.context) return;
  member.context = process.context;
  auto now = scopes_of(*process.context, member.begin_ns);
  const bool has_past = member.last_ns != member.begin_ns;
  const auto has = [](const auto& all, const auto& one) { return std::find(all.begin(), all.end(), one) != all.end(); };
  for (const auto& each : member.scopes) {
    if (has(now, each)) continue;
    --each->living;
    // What it did there before is known in part only, or not at all.
    if (has_past) each->whole = false;
  }
  for (const auto& each : now) {
    if (has(member.scopes, each)) continue;
    ++each->living;
    if (has_past && member.begin_ns < each->wall.closed_ns()) each->whole = false;
    const bool is_inside = process.parent_pid && each->pids.contains(*process.parent_pid);
    if (!is_inside && each->entries.size() < kMostEntries) each->entries[process.pid] = member.cpus_allowed;
    if (each->pids.size() < kMostMembers) each->pids.insert(process.pid);
    each->wall.has_cpus(cpus_of(*each));
  }
  member.scopes = std::move(now);
  count(member, process);
}

/// A process is counted from its birth on where its parent was. False: it may have been born just before, or after.
bool TaskLedgers::inherit_count(Member& member, const Process& process) const {
  member.was_counted = true;
  const auto parent = process.parent_pid ? members_.find(*process.parent_pid) : members_.end();
  if (parent == members_.end() || !parent->second.counted_in) return true;
  if (process.start_ns < parent->second.counted_from_ns) return parent->second.counted_in->counted.id() == 0;
  member.counted_in = parent->second.counted_in;
  member.counted_from_ns = process.start_ns;
  return true;
}

/// Of the scopes that it is in the kernel counts the innermost one, and none of the others: it would not be whole.
void TaskLedgers::count(Member& member, const Process& process) {
  if (counts_ == nullptr) return;
  for (std::size_t i = 1; i < member.scopes.size(); ++i)
    member.scopes[i]->counted.end(*counts_, member.scopes[i]->wall);
  ScopePtr wanted = member.scopes.empty() ? nullptr : member.scopes.front();
  if (wanted && !wanted->who->finished) wanted->counted.begin(*counts_, wanted->wall);
  if (wanted && wanted->counted.id() == 0) wanted = nullptr;
  const bool sure = member.was_counted || inherit_count(member, process);
  // One that is no more counts nothing.
  if (member.counted_in && member.counted_in->counted.id() == 0) member.counted_in = nullptr;
  if (sure && member.counted_in == wanted) return;
  const auto put = counts_->put(process.pid, process.start_ns, wanted ? wanted->counted.id() : 0);
  member.counted_from_ns = counts_->now_ns();
  member.counted_in = wanted;
  if (!wanted || put == ScopeCounts::Put::kWasIn) return;
  const std::uint64_t from_ns = std::max(member.begin_ns, wanted->counted.from_ns());
  wanted->wall.missed(member.counted_from_ns - std::min(from_ns, member.counted_from_ns));
}

TaskLedgers::Member& TaskLedgers::member(const Process& process, std::uint64_t begin_ns) {
  Member& known = members_[process.pid];
  if (known.start_ns != process.start_ns) {
    // The end of the one before was lost.
    for (const auto& old : known.scopes) --old->living, old->whole = false;
    known = Member{process.start_ns, begin_ns, begin_ns};
  }
  return known;
}

void TaskLedgers::saw(const ProcessStart& start) {
  const std::uint64_t begin_ns = start.attached_ns.value_or(start.process->start_ns);
  place(member(*start.process, begin_ns), *start.process);
}

void TaskLedgers::saw(const ProcessExec& exec) {
  const Process& process = *exec.process;
  Member& known = member(process, exec.attached_ns.value_or(process.start_ns));
  // A command that was held until now: nothing before counts.
  const bool was_held = !exec.ended.start_ns && known.last_ns == known.begin_ns;
  if (was_held) known.begin_ns = known.last_ns = exec.time_ns;
  known.cpus_allowed = exec.cpus_allowed;
  place(known, process);
  for (const auto& each : known.scopes) {
    const auto entry = each->entries.find(process.pid);
    if (entry != each->entries.end()) {
      entry->second = exec.cpus_allowed;
    } else {
      each->most_inside_cpus = std::max(each->most_inside_cpus, exec.cpus_allowed.value_or(0));
    }
    each->wall.has_cpus(cpus_of(*each));
    if (!was_held || each->ended != 0 || each->living != 1) continue;
    each->begin_ns = exec.time_ns;
    each->wall = WallLedger(exec.time_ns, cpus_of(*each));
    if (counts_ != nullptr) each->counted.begin_again(*counts_, each->wall);
  }
}

void TaskLedgers::add_span(Member& member, std::uint64_t to_ns, const Account& account) {
  if (!account.process_ledger) {
    for (const auto& each : member.scopes) each->whole = false;
    member.last_ns = to_ns;
    return;
  }
  LifeSpan span{member.last_ns, to_ns, *account.process_ledger};
  take_off_figures(span.ledger, member.last);
  const auto peers_of = [&](const Scope& scope, const std::optional<std::uint32_t>& peer, std::uint64_t waited_ns) {
    if (waited_ns == 0) return PipePeers::kInside;
    if (!peer) return PipePeers::kUnknown;
    return scope.pids.contains(*peer) ? PipePeers::kInside : PipePeers::kOutside;
  };
  const std::uint64_t poll_ns = account.process_ledger->poll_ns;
  std::uint64_t polled_ns = member.last.poll_ns - std::min(member.last.poll_ns, poll_ns);
  const std::uint64_t socket_ns = take_off_polls(polled_ns, span.ledger.local_socket_ns);
  const std::uint64_t pipe_ns = take_off_polls(polled_ns, span.ledger.pipe_ns);
  std::uint64_t slept_ns = member.last.sleep_ns - std::min(member.last.sleep_ns, account.process_ledger->sleep_ns);
  take_off_polls(slept_ns, span.ledger.lock_ns);
  // Whom a wait was for is known once it is over: it may have begun in earlier spans.
  member.read_wait_ns += span.ledger.pipe_read_ns;
  member.write_wait_ns += span.ledger.pipe_write_ns;
  const bool reads_from = account.ledger && account.ledger->pipe_read_peer_pid;
  const bool writes_to = account.ledger && account.ledger->pipe_write_peer_pid;
  const std::uint64_t read_wait_ns = reads_from ? std::exchange(member.read_wait_ns, 0) : 0;
  const std::uint64_t write_wait_ns = writes_to ? std::exchange(member.write_wait_ns, 0) : 0;
  const ProcessLedger whole_span = span.ledger;
  for (const auto& each : member.scopes) {
    span.pipe_peers = PipePeers::kUnknown;
    if (account.ledger) {
      span.ledger = without_inside(whole_span, *each, *account.ledger);
      const PipePeers read = peers_of(*each, account.ledger->pipe_read_peer_pid, span.ledger.pipe_read_ns);
      const PipePeers write = peers_of(*each, account.ledger->pipe_write_peer_pid, span.ledger.pipe_write_ns);
      const bool outside = read == PipePeers::kOutside || write == PipePeers::kOutside;
      span.pipe_peers = outside ? PipePeers::kOutside : read == PipePeers::kInside ? write : read;
      add_wait(*each, span, WaitBy::kPipe, account.ledger->pipe_read_peer_pid, read_wait_ns);
      add_wait(*each, span, WaitBy::kPipe, account.ledger->pipe_write_peer_pid, write_wait_ns);
    }
    if (socket_ns != 0) each->wall.poll_was(WallLedger::PollCause::kLocalSocket, member.last_ns, socket_ns);
    // What was for others of the task was no wait of it, and is not told from its polls.
    if (pipe_ns != 0 && span.pipe_peers == PipePeers::kOutside)
      each->wall.poll_was(WallLedger::PollCause::kOutsidePipe, member.last_ns, pipe_ns);
    each->wall.add(span);
  }
  member.last_ns = to_ns;
  member.last = *account.process_ledger;
}

void TaskLedgers::saw(const ProcessExit& exit) {
  const Process& process = *exit.process;
  Member& known = member(process, exit.begin_ns);
  place(known, process);
  add_span(known, exit.end_ns, exit.account);
  add_waits_at_end(known, exit);
  for (const auto& each : known.scopes) {
    --each->living;
    ++each->ended;
  }
  keep_end(known, process.pid);
  members_.erase(process.pid);
}

void TaskLedgers::saw(const ProcessSample& sample) {
  const Process& process = *sample.process;
  Member& known = member(process, sample.attached_ns.value_or(process.start_ns));
  place(known, process);
  add_span(known, sample.time_ns, sample.account);
  for (const auto& each : known.scopes) ++each->sampled;
}

/// A window ends where all that lives in it was sampled; else it goes on.
void TaskLedgers::saw(const SnapshotEnd& snapshot) {
  for (const auto& [id, each] : scopes_) {
    if (each->who->finished) continue;
    const bool is_known = each->living != 0 && each->sampled == each->living;
    each->sampled = 0;
    if (!is_known) continue;
    if (counts_ != nullptr) each->counted.read(*counts_, each->wall);
    each->wall.close(snapshot.time_ns);
  }
}

void TaskLedgers::saw(const OwnWork& work) {
  const auto task = scope(book_.make(*work.process->context, false), work.begin_ns);
  if (!task || work.time_ns <= work.begin_ns) return;
  LifeSpan span{work.begin_ns, work.time_ns};
  const std::uint64_t length_ns = work.time_ns - work.begin_ns;
  span.ledger.running_ns = std::min(least_cpu_ns(work.account).value_or(0), length_ns);
  span.ledger.other_ns = length_ns - span.ledger.running_ns;
  task->wall.add(span);
  task->wall.missed(span.ledger.running_ns);
}

void TaskLedgers::task_began(const Context& context, std::uint64_t start_ns) {
  const auto run = scope(book_.make(context, true), start_ns);
  if (!run) return;
  if (run->first_task_ns == 0) {
    run->first_task_ns = start_ns;
  } else if (run->tasks_running == 0 && start_ns > run->no_task_since_ns) {
    run->without_task_ns += start_ns - run->no_task_since_ns;
  }
  ++run->tasks_running;
}

void TaskLedgers::task_ended(const Context& context, std::uint64_t end_ns) {
  const auto run = scope(book_.make(context, true), end_ns);
  if (!run || run->tasks_running == 0) return;
  --run->tasks_running;
  run->no_task_since_ns = std::max(run->no_task_since_ns, end_ns);
}

void TaskLedgers::began(const RunStart& start) { scope(book_.make(*start.context, true), start.start_ns); }

void TaskLedgers::began(const TaskStart& start) {
  scope(book_.make(*start.context, false), start.start_ns);
  task_began(*start.context, start.start_ns);
}

ScopeFigures TaskLedgers::figures_of(const Scope& scope, std::uint64_t now_ns) const {
  ScopeFigures figures;
  figures.id = scope.who->id;
  figures.context = scope.who->context;
  figures.is_run = scope.who->is_run;
  figures.whole = scope.whole;
  figures.pid = scope.who->pid;
  figures.start_ns = scope.who->start_ns;
  figures.begin_ns = scope.begin_ns;
  figures.now_ns = now_ns;
  if (scope.first_task_ns != 0 && now_ns > scope.begin_ns) {
    const std::uint64_t wall_ns = now_ns - scope.begin_ns;
    const std::uint64_t without_ns =
        without_tasks_ns(scope.first_task_ns, scope.without_task_ns, scope.tasks_running == 0, scope.no_task_since_ns,
                         scope.begin_ns, now_ns);
    figures.by_tasks = tasks_speak(without_ns, wall_ns);
  }
  figures.ledger = scope.wall.ledger();
  figures.living = scope.living;
  figures.cpus = cpus_of(scope);
  figures.requested = scope.who->requested;
  return figures;
}

template <class Finish>
std::optional<ScopeFigures> TaskLedgers::finish_scope(Finish& finish, const ScopePtr& known) {
  if (!known) return std::nullopt;
  Scope& scope = *known;
  if (counts_ != nullptr) scope.counted.read(*counts_, scope.wall);
  ScopeFigures figures = figures_of(scope, finish.end_ns);
  figures.context = finish.context;
  figures.finished = true;
  figures.begin_ns = finish.begin_ns;
  // Others may have been in it, such as those of a run inside a task.
  const bool all_seen = scope.ended == finish.totals.processes && scope.whole;
  if (all_seen) {
    finish.task_ledger = scope.wall.until(finish.begin_ns, finish.end_ns);
    figures.ledger = *finish.task_ledger;
  }
  // Thousands of them are kept, as they may be joined again.
  scope.wall.release(finish.end_ns);
  if (counts_ != nullptr) scope.counted.end(*counts_, scope.wall);
  std::unordered_set<std::uint32_t>().swap(scope.pids);
  scope.entries.clear();
  return all_seen ? std::optional(figures) : std::nullopt;
}

std::optional<ScopeFigures> TaskLedgers::finish(TaskFinish& finish) {
  const ScopePtr task = find(*finish.context, false);
  if (task && !task->who->finished) task_ended(*finish.context, finish.end_ns);
  auto figures = finish_scope(finish, task);
  if (!figures) return figures;
  figures->requested = finish.requested;
  finish.waits_for = awaited_by(*task, figures->ledger);
  return figures;
}

std::optional<ScopeFigures> TaskLedgers::finish(RunFinish& finish) {
  const ScopePtr run = find(*finish.context, true);
  auto figures = finish_scope(finish, run);
  if (run && run->first_task_ns != 0 && run->tasks_running == 0)
    finish.without_task_ns = without_tasks_ns(run->first_task_ns, run->without_task_ns, true, run->no_task_since_ns,
                                              finish.begin_ns, finish.end_ns);
  return figures;
}

}  // namespace tracer::internal
