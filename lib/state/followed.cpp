// SPDX-License-Identifier: Apache-2.0
#include "state/followed.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/event_schema.hpp"
#include "base/sums.hpp"

namespace tracer::internal {
namespace {

/// What labels have given; the rest is known only of events.
Context only_labels(const Context& context) {
  Context labels;
  const auto take = [&](auto Context::*field, std::optional<Provenance> ContextProvenance::*provenance) {
    if (context.provenance.*provenance == Provenance::kLabel) labels.*field = context.*field;
  };
  take(&Context::pipeline, &ContextProvenance::pipeline);
  take(&Context::run, &ContextProvenance::run);
  take(&Context::step, &ContextProvenance::step);
  take(&Context::sample, &ContextProvenance::sample);
  take(&Context::task, &ContextProvenance::task);
  take(&Context::task_id, &ContextProvenance::task_id);
  take(&Context::attempt, &ContextProvenance::attempt);
  take(&Context::engine, &ContextProvenance::engine);
  take(&Context::run_id, &ContextProvenance::run_id);
  take(&Context::labels, &ContextProvenance::labels);
  return labels;
}

bool may_be_ends(const Loss& loss) {
  return loss.cause == "queue_full" || loss.cause == "service_queue_full" || loss.cause == "service_gap" ||
         loss.cause == "ring_full_process_exit";
}

}  // namespace

void Followed::saw(const Event& event) {
  const std::lock_guard lock(mutex_);
  if (const auto* exit = event.get_if<ProcessExit>()) {
    ended(*exit);
  } else if (const auto* start = event.get_if<ProcessStart>()) {
    began(start->process);
  } else if (const auto* exec = event.get_if<ProcessExec>()) {
    began(exec->process);
  } else if (const auto* sample = event.get_if<ProcessSample>()) {
    began(sample->process);
  } else if (const auto* run = event.get_if<RunStart>()) {
    if (run->context->run_key && runs_.size() < kMostContexts) runs_[*run->context->run_key] = event;
  } else if (const auto* task = event.get_if<TaskStart>()) {
    if (task->context->task_key && tasks_.size() < kMostContexts) tasks_[*task->context->task_key] = event;
  } else if (const auto* run_end = event.get_if<RunFinish>()) {
    if (run_end->context->run_key) runs_.erase(*run_end->context->run_key);
  } else if (const auto* task_end = event.get_if<TaskFinish>()) {
    if (task_end->context->task_key) tasks_.erase(*task_end->context->task_key);
  } else if (const auto* loss = event.get_if<Loss>(); loss != nullptr && may_be_ends(*loss)) {
    look();
  }
}

void Followed::began(const std::shared_ptr<const Process>& process) {
  const auto known = members_.find(process->pid);
  if (known == members_.end() && members_.size() >= max_processes_) return;
  Member& member = members_[process->pid];
  // Another has its pid.
  if (member.process && member.process->start_ns != process->start_ns && !member.is_gone)
    spoil(sums_of(*member.process->context));
  member = {process, false};
}

void Followed::ended(const ProcessExit& exit) {
  ContextTotals& sums = sums_of(*exit.process->context);
  const auto known = members_.find(exit.process->pid);
  const bool same = known != members_.end() && known->second.process->start_ns == exit.process->start_ns;
  const bool was_counted = same && known->second.is_gone;
  if (same) members_.erase(known);
  if (was_counted) return;
  ++sums.ended;
  if (exit.exit_signal || exit.exit_code.value_or(0) != 0) ++sums.failed;
  if (sums.ended == 1) {
    sums.account = exit.account;
    sums.account.peak_rss_bytes.reset();
    sums.account.peak_rss_at_most_bytes.reset();
    sums.account.peak_rss_at_least_bytes.reset();
  } else {
    add_figures(sums.account, exit.account, Unknown::kSpreads);
  }
}

void Followed::look() {
  for (auto& [pid, member] : members_) {
    if (member.is_gone || lives_(pid, member.process->start_ns)) continue;
    member.is_gone = true;
    spoil(sums_of(*member.process->context));
  }
}

/// With one that has ended, and nobody has seen how.
void Followed::spoil(ContextTotals& sums) {
  ++sums.ended;
  sums.account = {};
}

bool Followed::has(std::uint32_t pid, std::uint64_t start_ns) const {
  const std::lock_guard lock(mutex_);
  const auto known = members_.find(pid);
  return known != members_.end() && known->second.process->start_ns == start_ns;
}

ContextTotals& Followed::sums_of(const Context& context) {
  Context labels = only_labels(context);
  if (sums_.size() >= kMostContexts && !sums_.contains(labels)) labels = {};
  ContextTotals& sums = sums_[labels];
  sums.context = std::move(labels);
  return sums;
}

std::vector<ContextTotals> Followed::totals() const {
  const std::lock_guard lock(mutex_);
  std::map<Context, ContextTotals> totals = sums_;
  for (const auto& [pid, member] : members_) {
    if (member.is_gone) continue;
    const Context labels = only_labels(*member.process->context);
    ContextTotals& sums = totals[labels];
    sums.context = labels;
    ++sums.living;
  }
  std::vector<ContextTotals> all;
  for (auto& [labels, sums] : totals) all.push_back(std::move(sums));
  return all;
}

std::vector<Event> Followed::living() const {
  const std::lock_guard lock(mutex_);
  std::vector<Event> events;
  for (const auto& [key, start] : runs_) events.push_back(start);
  for (const auto& [key, start] : tasks_) events.push_back(start);
  const auto scopes = static_cast<std::ptrdiff_t>(events.size());
  for (const auto& [pid, member] : members_)
    if (!member.is_gone) events.emplace_back(ProcessStart{member.process->start_ns, member.process, {}});
  // Parents before their children.
  const auto earlier = [](const Event& one, const Event& other) { return one.time_ns() < other.time_ns(); };
  std::stable_sort(events.begin(), events.begin() + scopes, earlier);
  std::stable_sort(events.begin() + scopes, events.end(), earlier);
  return events;
}

}  // namespace tracer::internal
