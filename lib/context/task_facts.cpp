// SPDX-License-Identifier: Apache-2.0
#include "context/task_facts.hpp"

#include <algorithm>
#include <utility>

#include "base/sums.hpp"
#include "context/layers.hpp"

namespace tracer::internal {
namespace {

enum class Fact { kNone, kRun, kTask };

Fact fact_of(const Scope& scope) noexcept {
  switch (scope.begins) {
    case Begins::kRun: return Fact::kRun;
    case Begins::kTask: return Fact::kTask;
    case Begins::kPlace: return Fact::kNone;
    case Begins::kNothing: break;
  }
  return is_task(scope.said) ? Fact::kTask : is_run(scope.said) ? Fact::kRun : Fact::kNone;
}

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

void raise_peak(TaskTotals& totals, std::optional<std::uint64_t> bytes) {
  if (bytes) totals.peak_bytes = std::max(totals.peak_bytes.value_or(0), *bytes);
}

/// Before its processes are counted: the first account is taken as it is, with what is unknown in it.
void add_account(TaskTotals& totals, const Account& account) {
  if (totals.processes == 0) {
    totals.account = account;
  } else {
    add_figures(totals.account, account, Unknown::kSpreads);
  }
}

void add_failure(TaskTotals& totals, const FailedProcess& failure) {
  if (totals.failures.size() < TaskTotals::kMostFailures) totals.failures.push_back(failure);
}

void add_exit(ScopeTally& tally, const ProcessExit& exit, bool own) {
  TaskTotals& totals = tally.totals;
  Account account = exit.account;
  raise_peak(totals, std::exchange(account.peak_rss_bytes, std::nullopt));
  account.peak_rss_at_most_bytes.reset();
  if (account.ledger) account.ledger->pipe_read_peer_pid.reset(), account.ledger->pipe_write_peer_pid.reset();
  add_account(totals, account);
  ++totals.processes;
  if (own) {
    ++totals.engine_processes;
    add_figure(totals.engine_cpu_ns, account.cpu_ns, Unknown::kSpreads);
  } else if (exit.failed()) {
    ++totals.failed;
    add_failure(totals, {exit.process->pid, exit.process->program->tool, exit.exit_code, exit.exit_signal});
  }
}

/// What the processes of a scope had done before it was put into another.
void add_totals(TaskTotals& totals, const TaskTotals& inner) {
  raise_peak(totals, inner.peak_bytes);
  if (inner.processes == 0) return;
  add_account(totals, inner.account);
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
  finish.end_ns = tally.last_end_ns;
  // Of an attempt within one process, which goes on, the status is that of what was tried again.
  const bool tried_again = !scope.last_attempt.expired();
  finish.exit_code = tried_again ? scope.again_exit_code : tally.exit_code;
  finish.exit_signal = tried_again ? scope.again_exit_signal : tally.exit_signal;
  finish.totals = tally.totals;
  return finish;
}

}  // namespace

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
                     std::uint64_t time_ns, std::vector<Event>& events) {
  if (entered == place.scope) return;
  const auto before = chain_of(entered);
  const auto after = chain_of(place.scope);
  for (Scope* scope : after) {
    if (holds(before, scope)) continue;
    if (scope->leader_pid == 0) {
      scope->leader_pid = process.pid;
      scope->leader_start_ns = process.start_ns;
    }
    begin(*scope, time_ns, events);
    ++scope->tally.living;
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
      add_totals(tally.totals, inner.totals);
      if (scope->leader_pid != move.scope->leader_pid || scope->leader_start_ns != move.scope->leader_start_ns)
        continue;
      tally.leader_ended = inner.leader_ended;
      tally.exit_code = inner.exit_code;
      tally.exit_signal = inner.exit_signal;
    }
  }
}

void TaskFacts::leave(std::shared_ptr<Scope>& entered, const ContextPlace& place, const ProcessExit& exit,
                      std::vector<Event>& events) {
  const auto chain = chain_of(entered);
  for (auto each = chain.rbegin(); each != chain.rend(); ++each) {
    Scope& scope = **each;
    ScopeTally& tally = scope.tally;
    add_exit(tally, exit, place.own);
    --tally.living;
    tally.last_end_ns = std::max(tally.last_end_ns, exit.end_ns);
    if (is_leader(scope, *exit.process)) {
      tally.leader_ended = true;
      tally.exit_code = exit.exit_code;
      tally.exit_signal = exit.exit_signal;
    }
    finish_if_over(scope, exit.time_ns, events);
  }
  entered.reset();
}

void TaskFacts::forget(std::shared_ptr<Scope>& entered, const Process& process, std::uint64_t time_ns,
                       std::vector<Event>& events) {
  const auto chain = chain_of(entered);
  for (auto each = chain.rbegin(); each != chain.rend(); ++each) {
    Scope& scope = **each;
    --scope.tally.living;
    if (is_leader(scope, process)) scope.tally.leader_ended = true;
    finish_if_over(scope, time_ns, events);
  }
  entered.reset();
}

void TaskFacts::finish_if_over(Scope& scope, std::uint64_t time_ns, std::vector<Event>& events) {
  const ScopeTally& tally = scope.tally;
  if (tally.living != 0 || !tally.leader_ended || open_labels_.hold(scope)) return;
  if (fact_of(scope) == Fact::kTask) {
    auto finish = finish_of<TaskFinish>(tally, scope, time_ns);
    finish.context = context_of(scope);
    finish.requested = scope.requested;
    if (Scope* run = enclosing_run(scope); run != nullptr && !tally.finished && !tally.holds_tasks) {
      ++run->tally.tasks;
      if (finish.exit_signal || finish.exit_code.value_or(0) != 0) ++run->tally.failed_tasks;
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
    if (!scope->tally.round) {
      scope->tally.round = std::make_unique<HeldMemory>();
      sampled_.push_back(scope);
    }
    scope->tally.round->add(sample);
  }
}

void TaskFacts::end_round() {
  for (const auto& scope : sampled_) {
    ScopeTally& tally = scope->tally;
    if (const auto bytes = tally.round->bytes(); bytes && *bytes != 0) raise_peak(tally.totals, bytes);
    tally.round.reset();
  }
  sampled_.clear();
}

}  // namespace tracer::internal
