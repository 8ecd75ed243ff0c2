// SPDX-License-Identifier: Apache-2.0
#include "context/task_facts.hpp"

#include <algorithm>
#include <utility>

#include "base/sums.hpp"
#include "context/layers.hpp"
#include "context/same_owner.hpp"
#include "context/scope_fact.hpp"

namespace tracer::internal {
namespace {

/// From the outermost to the innermost.
std::vector<Scope*> chain_of(const std::shared_ptr<Scope>& scope) {
  std::vector<Scope*> chain;
  for (Scope* each = scope.get(); each != nullptr; each = each->outer.get()) chain.push_back(each);
  std::reverse(chain.begin(), chain.end());
  return chain;
}

bool holds(const std::vector<Scope*>& chain, const Scope* scope) {
  return std::find(chain.begin(), chain.end(), scope) != chain.end();
}

Scope* enclosing_run(const Scope& scope) noexcept {
  return first_around(scope, [](const Scope& each) { return fact_of(each) == Fact::kRun; });
}

/// Within the same run.
Scope* enclosing_task(const Scope& scope) noexcept {
  Scope* found = first_around(scope, [](const Scope& each) { return fact_of(each) != Fact::kNone; });
  return found != nullptr && fact_of(*found) == Fact::kTask ? found : nullptr;
}

void set_peak(TaskTotals& totals, const PeakBounds& peak) {
  if (peak.at_least_bytes == 0) return;
  (peak.exact() ? totals.peak_bytes : totals.peak_at_least_bytes) = peak.at_least_bytes;
  if (!peak.exact()) totals.peak_at_most_bytes = peak.at_most_bytes;
}

/// The first account is taken as it is, with what is unknown in it.
void add_account(ScopeTally& tally, const Account& account) {
  if (std::exchange(tally.has_account, true)) return add_figures(tally.totals.account, account, Unknown::kSpreads);
  tally.totals.account = account;
  add_figure(tally.totals.account.cpu_ns, tally.totals.own_cpu_ns, Unknown::kSpreads);
}

/// Of what the session's own process did, the CPU time alone: what it read and wrote is not known of each part.
void add_own_cpu(ScopeTally& tally, const std::optional<std::uint64_t>& cpu_ns) {
  add_figure(tally.totals.own_cpu_ns, cpu_ns, Unknown::kSpreads);
  if (tally.has_account) {
    add_figure(tally.totals.account.cpu_ns, cpu_ns, Unknown::kSpreads);
  } else {
    tally.totals.account.cpu_ns = tally.totals.own_cpu_ns;
  }
}

void add_failure(TaskTotals& totals, const FailedProcess& failure) {
  if (totals.failures.size() < TaskTotals::kMostFailures) totals.failures.push_back(failure);
}

void add_exit(ScopeTally& tally, const ProcessExit& exit, bool own) {
  TaskTotals& totals = tally.totals;
  Account account = exit.account;
  tally.memory.ended(exit.program, true);
  account.peak_rss_bytes.reset(), account.peak_rss_at_most_bytes.reset(), account.peak_rss_at_least_bytes.reset();
  forget_peers(account);
  add_account(tally, account);
  ++totals.processes;
  if (own) {
    ++totals.engine_processes;
    add_figure(totals.engine_cpu_ns, account.cpu_ns, Unknown::kSpreads);
  }
}

/// What the processes of a scope had done before it was put into another.
void add_tally(ScopeTally& tally, const ScopeTally& inside) {
  TaskTotals& totals = tally.totals;
  const TaskTotals& inner = inside.totals;
  tally.memory.add(inside.memory);
  if (!inside.has_account) {
    if (inner.own_cpu_ns != std::uint64_t{0}) add_own_cpu(tally, inner.own_cpu_ns);
    return;
  }
  add_account(tally, inner.account);
  add_figure(totals.own_cpu_ns, inner.own_cpu_ns, Unknown::kSpreads);
  totals.processes += inner.processes;
  totals.engine_processes += inner.engine_processes;
  totals.failed += inner.failed;
  add_figure(totals.engine_cpu_ns, inner.engine_cpu_ns, Unknown::kSpreads);
  for (const FailedProcess& each : inner.failures) add_failure(totals, each);
}

template <class Finish>
Finish finish_of(const ScopeTally& tally, const Scope& scope, std::uint64_t time_ns) {
  Finish finish;
  finish.time_ns = time_ns;
  finish.pid = scope.leader_pid;
  finish.start_ns = scope.leader_start_ns;
  finish.begin_ns = tally.begin_ns;
  finish.end_ns = tally.last_end_ns;
  // Of an attempt within one process, which goes on, it is that of the command that failed, if one did.
  if (!was_tried_again(scope)) {
    finish.exit_code = tally.exit_code;
    finish.exit_signal = tally.exit_signal;
  } else if (scope.again_failed) {
    finish.exit_code = scope.again_exit_code;
    finish.exit_signal = scope.again_exit_signal;
  }
  finish.totals = tally.totals;
  set_peak(finish.totals, tally.memory.peak());
  return finish;
}

}  // namespace

TaskFacts::TaskFacts(ContextResolver& resolver, OpenLabels& open_labels)
    : resolver_(resolver), open_labels_(open_labels), chains_([this](const FailureOrigin& failure, Verdict verdict) {
        if (verdict == Verdict::kFailed) count(failure);
      }) {}

/// In the scope where it was, and in all around it. What another user runs in one is not named.
void TaskFacts::count(const FailureOrigin& failure) const {
  for (auto* scope = static_cast<Scope*>(failure.tag.get()); scope != nullptr; scope = scope->outer.get()) {
    ++scope->tally.totals.failed;
    const Process& process = *failure.process;
    const bool is_own = same_owner(context_of(*scope)->owner_uid, *process.context, process.uid, resolver_.user_ids());
    add_failure(scope->tally.totals,
                {process.pid, is_own ? process.program->tool : std::nullopt, failure.exit_code, failure.exit_signal});
  }
}

std::shared_ptr<const Context> TaskFacts::context_of(Scope& scope) const { return resolver_.work_context_of(scope); }

void TaskFacts::begin(Scope& scope, std::uint64_t time_ns, std::vector<Event>& events) {
  ScopeTally& tally = scope.tally;
  if (tally.begun) return;
  tally.begun_ns = time_ns;
  if (fact_of(scope) == Fact::kTask)
    if (Scope* task = enclosing_task(scope)) task->tally.holds_tasks = true;
  add_start(scope, events);
  // From now on a change of its context is reported.
  tally.begun = true;
}

void TaskFacts::add_starts(const std::shared_ptr<Scope>& entered, std::set<const Scope*>& told,
                           std::vector<Event>& events) const {
  for (Scope* scope : chain_of(entered))
    if (scope->tally.begun && told.insert(scope).second) add_start(*scope, events);
}

void TaskFacts::doubt(const std::shared_ptr<Scope>& entered) {
  for (Scope* scope : chain_of(entered)) {
    ScopeTally& tally = scope->tally;
    tally.has_account = true;
    tally.totals.account = {};
    tally.totals.own_cpu_ns.reset();
    tally.totals.engine_cpu_ns.reset();
  }
}

void TaskFacts::add_start(Scope& scope, std::vector<Event>& events) const {
  const auto start_of = [&]<class Start>(Start start) {
    start.time_ns = scope.tally.begun_ns;
    start.context = context_of(scope);
    start.pid = scope.leader_pid;
    start.start_ns = scope.leader_start_ns;
    return start;
  };
  switch (fact_of(scope)) {
    case Fact::kRun: events.emplace_back(start_of(RunStart())); break;
    case Fact::kTask: {
      TaskStart start = start_of(TaskStart());
      start.requested = scope.requested;
      events.emplace_back(std::move(start));
      break;
    }
    case Fact::kNone: break;
  }
}

void TaskFacts::move(std::shared_ptr<Scope>& entered, const ContextPlace& place, const Process& process,
                     std::uint64_t begin_ns, std::uint64_t time_ns, std::vector<Event>& events) {
  if (entered == place.scope) return;
  const auto before = chain_of(entered);
  const auto after = chain_of(place.scope);
  for (Scope* scope : after) {
    if (holds(before, scope)) continue;
    if (scope->leader_pid == 0) {
      scope->leader_pid = process.pid;
      scope->leader_start_ns = process.start_ns;
    }
    if (scope->tally.begin_ns == 0 || is_leader(*scope, process)) scope->tally.begin_ns = begin_ns;
    begin(*scope, time_ns, events);
    ++scope->tally.living;
    if (const auto previous = std::exchange(scope->previous_attempt, nullptr))
      finish_if_over(*previous, time_ns, events);
  }
  for (auto each = before.rbegin(); each != before.rend(); ++each) {
    if (holds(after, *each)) continue;
    --(*each)->tally.living;
    finish_if_over(**each, time_ns, events);
  }
  entered = place.scope;
}

void TaskFacts::absorb(const std::vector<ScopeMove>& moves, std::uint64_t time_ns, std::vector<Event>& events) {
  for (const ScopeMove& move : moves) {
    const ScopeTally& inner = move.scope->tally;
    if (!inner.begun) continue;
    for (const auto& scope : move.gained) {
      begin(*scope, time_ns, events);
      ScopeTally& tally = scope->tally;
      tally.living += inner.living;
      tally.last_end_ns = std::max(tally.last_end_ns, inner.last_end_ns);
      if (tally.begin_ns == 0) tally.begin_ns = inner.begin_ns;
      add_tally(tally, inner);
      if (scope->leader_pid != move.scope->leader_pid || scope->leader_start_ns != move.scope->leader_start_ns)
        continue;
      tally.leader_ended = inner.leader_ended;
      tally.exit_code = inner.exit_code;
      tally.exit_signal = inner.exit_signal;
    }
  }
}

void TaskFacts::executed(const std::shared_ptr<Scope>& entered, const Process& process, const ProgramAccount& ended) {
  // Nobody asks for the peak of a mere copy of the parent.
  const bool is_copy = ended.start_ns == process.start_ns;
  for (Scope* scope : chain_of(entered)) scope->tally.memory.ended(ended, !is_copy);
}

void TaskFacts::leave(std::shared_ptr<Scope>& entered, const ContextPlace& place, const ProcessExit& exit,
                      std::vector<Event>& events) {
  const auto chain = chain_of(entered);
  for (Scope* scope : chain) {
    add_exit(scope->tally, exit, place.own);
    if (is_leader(*scope, *exit.process)) chains_.leads(exit.process->pid, exit.process->start_ns, *context_of(*scope));
  }
  // Before a task finishes, as the end of its leader decides what its children left.
  chains_.ended(exit, place.own, entered);
  for (auto each = chain.rbegin(); each != chain.rend(); ++each) {
    Scope& scope = **each;
    ScopeTally& tally = scope.tally;
    --tally.living;
    tally.last_end_ns = std::max(tally.last_end_ns, exit.end_ns);
    if (is_leader(scope, *exit.process)) {
      tally.leader_ended = true;
      tally.exit_code = exit.exit_code;
      tally.exit_signal = exit.exit_signal;
      finish_last_attempt(scope, exit.time_ns, events);
    }
    finish_if_over(scope, exit.time_ns, events);
  }
  entered.reset();
}

/// The process that made all attempts has ended as the last of them.
void TaskFacts::finish_last_attempt(const Scope& first, std::uint64_t time_ns, std::vector<Event>& events) {
  if (!first.last_attempt) return;
  Scope& last = *first.last_attempt;
  last.tally.leader_ended = true;
  last.tally.exit_code = first.tally.exit_code;
  last.tally.exit_signal = first.tally.exit_signal;
  finish_if_over(last, time_ns, events);
}

void TaskFacts::add_own_work(const std::shared_ptr<Scope>& innermost, const std::shared_ptr<Scope>& entered,
                             const OwnWork& work, std::vector<Event>& events) {
  const auto around = chain_of(entered);
  for (Scope* scope : chain_of(innermost)) {
    ScopeTally& tally = scope->tally;
    if (scope->leader_pid == 0) {
      scope->leader_pid = work.process->pid;
      scope->leader_start_ns = tally.begin_ns = work.begin_ns;
      // The process lives on: its part in the task is over.
      tally.leader_ended = !holds(around, scope);
    }
    begin(*scope, work.begin_ns, events);
    add_own_cpu(tally, work.account.cpu_ns);
    // What it held before is no task's.
    tally.memory.worked(work.account.peak_rss_bytes, work.account.peak_rss_bytes);
    tally.last_end_ns = std::max(tally.last_end_ns, work.time_ns);
    // It finishes when its label ends.
    if (tally.leader_ended) finish_if_over(*scope, work.time_ns, events);
  }
}

void TaskFacts::forget(std::shared_ptr<Scope>& entered, const Process& process, std::uint64_t time_ns,
                       std::vector<Event>& events) {
  chains_.forget(process.pid, process.start_ns);
  const auto chain = chain_of(entered);
  for (auto each = chain.rbegin(); each != chain.rend(); ++each) {
    Scope& scope = **each;
    --scope.tally.living;
    scope.tally.memory.peak_unknown();
    if (is_leader(scope, process)) {
      scope.tally.leader_ended = true;
      finish_last_attempt(scope, time_ns, events);
    }
    finish_if_over(scope, time_ns, events);
  }
  entered.reset();
}

void TaskFacts::finish_if_over(Scope& scope, std::uint64_t time_ns, std::vector<Event>& events) {
  const ScopeTally& tally = scope.tally;
  if (tally.living != 0 || !tally.leader_ended || may_go_on(scope) || open_labels_.hold(scope)) return;
  if (fact_of(scope) == Fact::kTask) {
    auto finish = finish_of<TaskFinish>(tally, scope, time_ns);
    finish.context = context_of(scope);
    finish.requested = scope.requested;
    if (Scope* run = enclosing_run(scope); run != nullptr && !tally.finished && !tally.holds_tasks) {
      ++run->tally.tasks;
      if (finish.failed().value_or(false) || was_tried_again(scope)) ++run->tally.failed_tasks;
    }
    events.emplace_back(std::move(finish));
  } else if (fact_of(scope) == Fact::kRun) {
    auto finish = finish_of<RunFinish>(tally, scope, time_ns);
    finish.context = context_of(scope);
    finish.tasks = tally.tasks;
    finish.failed_tasks = tally.failed_tasks;
    events.emplace_back(std::move(finish));
  }
  scope.tally.finished = true;
}

void TaskFacts::add(const std::shared_ptr<Scope>& entered, const ProcessSample& sample) {
  for (std::shared_ptr<Scope> scope = entered; scope; scope = scope->outer) {
    GroupMemory& memory = scope->tally.memory;
    if (!memory.in_snapshot()) sampled_.push_back(scope);
    memory.add(sample);
  }
}

void TaskFacts::end_round() {
  for (const auto& scope : sampled_) scope->tally.memory.end_snapshot();
  sampled_.clear();
}

}  // namespace tracer::internal
