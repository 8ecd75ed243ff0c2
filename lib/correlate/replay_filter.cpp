// SPDX-License-Identifier: Apache-2.0
#include "correlate/replay_filter.hpp"

#include <utility>

#include "base/event_schema.hpp"

namespace tracer::internal {

std::optional<Event> ReplayFilter::apply(Event event) {
  if (filter_.selects_all()) return event;
  std::optional<Event> kept;
  visit(
      [&](const auto& body) {
        using E = std::remove_cvref_t<decltype(body)>;
        if constexpr (ProcessEvent<E>) {
          kept = apply_to_process(body, event);
        } else if constexpr (E::kKind < EventKind::kProcessStart) {
          kept = event;  // Of the session. Aggregates, and sums of tasks, can't be taken apart again.
        }
      },
      event);
  return kept;
}

ReplayFilter::Entry& ReplayFilter::entry_of(const Process& process) {
  const auto found = processes_.find(process.pid);
  if (found != processes_.end() && found->second.start_ns == process.start_ns) return found->second;
  if (processes_.size() >= max_processes_) {
    forgotten_.add(processes_.size());
    processes_.clear();
  }
  Entry entry{process.start_ns, {filter_.initial(), nullptr}};
  const auto parent = processes_.find(process.parent_pid.value_or(0));
  if (parent != processes_.end() && parent->second.start_ns == process.parent_start_ns)
    entry.decision = parent->second.decision;
  return processes_.insert_or_assign(process.pid, std::move(entry)).first->second;
}

template <class E>
std::optional<Event> ReplayFilter::apply_to_process(const E& event, const Event& handle) {
  Entry& entry = entry_of(*event.process);
  FilterEvaluator::Decision now = filter_.decide(entry.decision.selection, *event.process);
  entry.decision.selection = now.selection;
  if (now.labels) entry.decision.labels = std::move(now.labels);
  const FilterEvaluator::Decision decision = entry.decision;
  if constexpr (E::kKind == EventKind::kProcessExit) processes_.erase(event.process->pid);
  if (decision.selection != Selection::kSelected) return std::nullopt;
  if (!decision.labels) return handle;
  auto labeled = std::make_shared<Process>(*event.process);
  labeled->context = decision.labels;
  E changed = event;
  changed.process = std::move(labeled);
  return Event(std::move(changed));
}

}  // namespace tracer::internal
