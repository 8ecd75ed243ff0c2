// SPDX-License-Identifier: Apache-2.0
#include "correlate/replay_filter.hpp"

#include <utility>

#include "base/event_schema.hpp"

namespace tracer::internal {

ReplayFilter::ReplayFilter(FilterEvaluator filter, std::size_t max_processes, const Decided& decided)
    : ReplayFilter(std::move(filter), max_processes) {
  for (const Decided::OfProcess& each : decided.processes)
    processes_.insert_or_assign(each.pid, Entry{each.start_ns, {each.selection, nullptr}});
  runs_.insert(decided.runs.begin(), decided.runs.end());
  tasks_.insert(decided.tasks.begin(), decided.tasks.end());
  cgroups_.insert(decided.cgroups.begin(), decided.cgroups.end());
}

ReplayFilter::ReplayFilter(const ReplayFilter& other)
    : filter_(other.filter_),
      max_processes_(other.max_processes_),
      processes_(other.processes_),
      trees_(other.trees_),
      held_(other.held_),
      runs_(other.runs_),
      tasks_(other.tasks_),
      cgroups_(other.cgroups_) {
  forgotten_.set(other.forgotten());
}

ReplayFilter::Decided ReplayFilter::decided() const {
  Decided decided;
  decided.processes.reserve(processes_.size());
  for (const auto& [pid, entry] : processes_)
    decided.processes.push_back({pid, entry.start_ns, entry.decision.selection});
  decided.runs.assign(runs_.begin(), runs_.end());
  decided.tasks.assign(tasks_.begin(), tasks_.end());
  decided.cgroups.assign(cgroups_.begin(), cgroups_.end());
  return decided;
}

bool ReplayFilter::has_taken(const Event& start) const {
  if (filter_.selects_all()) return true;
  if (const auto* begun = start.get_if<ProcessStart>()) {
    const Entry* const process = selected(begun->process->pid);
    return process != nullptr && process->start_ns == begun->process->start_ns && !process->start;
  }
  if (const auto* run = start.get_if<RunStart>()) return keeps_scope(*run->context);
  const auto* task = start.get_if<TaskStart>();
  return task != nullptr && keeps_scope(*task->context);
}

void ReplayFilter::apply(Event event, std::vector<Event>& events) {
  if (filter_.selects_all()) return events.push_back(std::move(event));
  std::optional<Event> kept;
  visit(
      [&](const auto& body) {
        using E = std::remove_cvref_t<decltype(body)>;
        if constexpr (ProcessEvent<E>) {
          kept = apply_to_process(body, event, events);
        } else if constexpr (std::is_same_v<E, RunStart> || std::is_same_v<E, TaskStart>) {
          if (filter_.takes_whole_trees()) apply_to_start(body, event, events);
        } else if constexpr (std::is_same_v<E, RunFinish>) {
          if (body.context->run_key && runs_.contains(*body.context->run_key)) kept = event;
        } else if constexpr (std::is_same_v<E, TaskFinish>) {
          if (body.context->task_key && tasks_.contains(*body.context->task_key)) kept = event;
        } else if constexpr (std::is_same_v<E, ContextChange>) {
          if (keeps_change(body)) kept = event;
        } else if constexpr (std::is_same_v<E, CgroupSample>) {
          if (body.cgroup->id && cgroups_.contains(*body.cgroup->id)) kept = event;
        } else if constexpr (E::kKind < EventKind::kProcessStart) {
          kept = event;  // Of the session. Other aggregates can't be taken apart again.
        }
      },
      event);
  if (kept) events.push_back(std::move(*kept));
}

ReplayFilter::Entry& ReplayFilter::entry_of(const std::shared_ptr<const Process>& seen) {
  const Process& process = *seen;
  const auto found = processes_.find(process.pid);
  if (found != processes_.end() && found->second.start_ns == process.start_ns) return found->second;
  if (processes_.size() >= max_processes_) {
    forgotten_.add(processes_.size());
    processes_.clear();
    held_.clear();
    cgroups_.clear();
  }
  Entry entry{process.start_ns, {filter_.initial(), nullptr}};
  const auto parent = processes_.find(process.parent_pid.value_or(0));
  if (parent != processes_.end() && parent->second.start_ns == process.parent_start_ns)
    entry.decision = parent->second.decision;
  if (trees_.erase(process.pid) != 0 && entry.decision.selection == Selection::kUndecided)
    entry.decision.selection = Selection::kSelected;
  return processes_.insert_or_assign(process.pid, std::move(entry)).first->second;
}

bool ReplayFilter::waits_for_exec(const Process& process) const {
  if (!filter_.excludes_by_program()) return false;
  const auto parent = processes_.find(process.parent_pid.value_or(0));
  if (parent == processes_.end() || parent->second.start_ns != process.parent_start_ns) return false;
  const auto& program = parent->second.program;
  return program && program->exe == process.program->exe && program->argv == process.program->argv;
}

namespace {

template <class E>
Event with_labels(const E& event, const std::shared_ptr<const Context>& labels) {
  auto labeled = std::make_shared<Process>(*event.process);
  labeled->context = labels;
  E changed = event;
  changed.process = std::move(labeled);
  return Event(std::move(changed));
}

}  // namespace

template <class E>
std::optional<Event> ReplayFilter::apply_to_process(const E& event, const Event& handle, std::vector<Event>& events) {
  Entry& entry = entry_of(event.process);
  FilterEvaluator::Decision now = filter_.decide(entry.decision.selection, *event.process);
  entry.decision.selection = now.selection;
  if (now.labels) entry.decision.labels = std::move(now.labels);
  const FilterEvaluator::Decision decision = entry.decision;
  const bool is_selected = decision.selection == Selection::kSelected;
  entry.process = decision.selection == Selection::kUndecided ? event.process : nullptr;
  if (filter_.excludes_by_program()) entry.program = event.process->program;
  const ProcessId leader = id_of(*event.process);
  if (is_selected) {
    release(leader, events);
    if (filter_.takes_whole_trees() && event.process->cgroup->id) cgroups_.insert(*event.process->cgroup->id);
  }
  if constexpr (E::kKind == EventKind::kProcessStart) {
    const bool waits = is_selected ? !event.attached_ns && waits_for_exec(*event.process)
                                   : decision.selection == Selection::kUndecided;
    if (waits) entry.start = handle;
    if (waits) return std::nullopt;
  } else if constexpr (E::kKind == EventKind::kProcessExec || E::kKind == EventKind::kProcessExit) {
    const std::optional<Event> start = std::exchange(entry.start, std::nullopt);
    if (is_selected && start)
      events.push_back(decision.labels ? with_labels(*start->get_if<ProcessStart>(), decision.labels) : *start);
    // What it executes may still take it in.
    if (decision.selection == Selection::kUndecided) entry.start = start;
  }
  if constexpr (E::kKind == EventKind::kProcessExit) {
    processes_.erase(event.process->pid);
    held_.erase(leader);
  }
  if (!is_selected) return std::nullopt;
  return decision.labels ? with_labels(event, decision.labels) : handle;
}

const ReplayFilter::Entry* ReplayFilter::selected(std::uint32_t pid) const {
  const auto known = processes_.find(pid);
  const bool selects = known != processes_.end() && known->second.decision.selection == Selection::kSelected;
  return selects ? &known->second : nullptr;
}

bool ReplayFilter::selects(const ProcessId& leader) const {
  const Entry* const process = selected(leader.first);
  return process != nullptr && process->start_ns == leader.second;
}

template <class E>
void ReplayFilter::apply_to_start(const E& start, const Event& event, std::vector<Event>& events) {
  const ProcessId leader{start.start_ns, start.pid};
  // A task that begins with own work of a process starts later than that.
  const Entry* const process = selected(start.pid);
  if ((process != nullptr && process->start_ns <= start.start_ns) || keeps_scope(*start.context)) {
    keep_scope(*start.context);
    events.push_back(event);
  } else if (held_.size() < max_processes_) {
    held_[leader].push_back(event);
  } else {
    forgotten_.add(1);
  }
}

/// A task's keys are its own and that of its run.
bool ReplayFilter::keeps_scope(const Context& context) const {
  return context.task_key ? tasks_.contains(*context.task_key) : context.run_key && runs_.contains(*context.run_key);
}

void ReplayFilter::keep_scope(const Context& context) {
  if (runs_.size() + tasks_.size() >= max_processes_) {
    forgotten_.add(runs_.size() + tasks_.size());
    runs_.clear();
    tasks_.clear();
  }
  if (context.task_key) {
    tasks_.insert(*context.task_key);
  } else if (context.run_key) {
    runs_.insert(*context.run_key);
  }
}

bool ReplayFilter::keeps_change(const ContextChange& change) {
  if (change.pid) return selects({*change.pid, change.start_ns.value_or(0)});
  if (!keeps_scope(*change.before)) return false;
  keep_scope(*change.after);
  return true;
}

void ReplayFilter::release(const ProcessId& leader, std::vector<Event>& events) {
  if (held_.empty()) return;
  const auto held = held_.find(leader);
  if (held == held_.end()) return;
  for (Event& start : held->second) {
    const auto* run = start.get_if<RunStart>();
    keep_scope(run != nullptr ? *run->context : *start.get_if<TaskStart>()->context);
    events.push_back(std::move(start));
  }
  held_.erase(held);
}

void ReplayFilter::follow(std::uint32_t pid, std::uint64_t time_ns, std::vector<Event>& events) {
  if (filter_.selects_all()) return;
  const auto take_in = [&](std::uint32_t each, Entry& entry) {
    entry.decision.selection = Selection::kSelected;
    const auto process = std::exchange(entry.process, nullptr);
    entry.start.reset();
    if (!process) return;
    release({each, entry.start_ns}, events);
    events.emplace_back(ProcessStart{time_ns, process, time_ns});
  };
  const auto known = processes_.find(pid);
  if (known == processes_.end()) return static_cast<void>(trees_.insert(pid));
  if (known->second.decision.selection != Selection::kUndecided) return;
  take_in(pid, known->second);
  // Parents come before their children.
  for (bool more = true; more;) {
    more = false;
    for (auto& [each, entry] : processes_) {
      if (!entry.process || entry.decision.selection != Selection::kUndecided) continue;
      if (!selects({entry.process->parent_pid.value_or(0), entry.process->parent_start_ns.value_or(0)})) continue;
      take_in(each, entry);
      more = true;
    }
  }
}

}  // namespace tracer::internal
