// SPDX-License-Identifier: Apache-2.0
#include "stream/started_once.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/context_key.hpp"

namespace tracer::internal {
namespace {

std::uint64_t number_of(Key key) { return static_cast<std::uint64_t>(key); }

}  // namespace

bool StartedOnce::follows(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::kProcessStart:
    case EventKind::kProcessExit:
    case EventKind::kRunStart:
    case EventKind::kRunFinish:
    case EventKind::kTaskStart:
    case EventKind::kTaskFinish:
    case EventKind::kTaskSubmit:
    case EventKind::kContextChange: return true;
    default: return false;
  }
}

bool StartedOnce::take(const Event& event) {
  if (const auto* start = event.get_if<ProcessStart>()) return processes_.insert(id_of(*start->process)).second;
  if (const auto* run = event.get_if<RunStart>()) return starts(run->context->run_key, {run->start_ns, run->pid});
  if (const auto* task = event.get_if<TaskStart>()) return starts(task->context->task_key, {task->start_ns, task->pid});
  if (const auto* exit = event.get_if<ProcessExit>()) {
    processes_.erase(id_of(*exit->process));
  } else if (const auto* ended_run = event.get_if<RunFinish>()) {
    ends(ended_run->context->run_key, {ended_run->start_ns, ended_run->pid});
  } else if (const auto* ended_task = event.get_if<TaskFinish>()) {
    ends(ended_task->context->task_key, {ended_task->start_ns, ended_task->pid});
  } else if (const auto* submit = event.get_if<TaskSubmit>()) {
    return submits(*submit);
  } else if (const auto* change = event.get_if<ContextChange>()) {
    rename(*change);
  }
  return true;
}

/// A file begins with what was told last of all that is submitted.
bool StartedOnce::submits(const TaskSubmit& submit) {
  const auto& key = innermost_key(*submit.context);
  if (!key) return true;
  if (submit.state == "submitted" || submit.state == "started" || submit.state == "started_elsewhere") {
    std::string said = submit.state + std::to_string(submit.time_ns);
    return std::exchange(submitted_[number_of(*key)], said) != said;
  }
  submitted_.erase(number_of(*key));
  return true;
}

/// Several tasks may have one key, with leaders of their own.
bool StartedOnce::starts(const std::optional<Key>& key, const ProcessId& leader) {
  if (!key) return true;
  const auto [first, last] = scopes_.equal_range(number_of(*key));
  if (std::any_of(first, last, [&](const auto& each) { return each.second == leader; })) return false;
  scopes_.emplace(number_of(*key), leader);
  return true;
}

void StartedOnce::ends(const std::optional<Key>& key, const ProcessId& leader) {
  if (!key) return;
  const auto [first, last] = scopes_.equal_range(number_of(*key));
  const auto found = std::find_if(first, last, [&](const auto& each) { return each.second == leader; });
  if (found != last) scopes_.erase(found);
}

void StartedOnce::rename(const ContextChange& change) {
  const auto rename = [this](const std::optional<Key>& before, const std::optional<Key>& after) {
    while (before && after && before != after) {
      auto node = scopes_.extract(number_of(*before));
      if (!node) return;
      node.key() = number_of(*after);
      scopes_.insert(std::move(node));
    }
  };
  rename(change.old_run_key, change.after->run_key);
  rename(change.old_task_key, change.after->task_key);
}

}  // namespace tracer::internal
