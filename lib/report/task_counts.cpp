// SPDX-License-Identifier: Apache-2.0
#include "report/task_counts.hpp"

#include <utility>

#include "context/attempts.hpp"
#include "state/book.hpp"

namespace tracer::internal {

void TaskCounts::open(const Context& context, bool runs) {
  const std::uint64_t key = key_of(context, false);
  if (key == 0) return;
  const auto known = open_.find(key);
  if (known == open_.end()) {
    if (open_.size() >= kMost) return;
    if (context.attempt.value_or(1) > 1)
      if (const auto before = failed_.find(attempts_hash(context)); before != failed_.end()) failed_.erase(before);
    open_[key] = runs;
    if (!runs) ++queued_;
  } else if (runs && !std::exchange(known->second, true)) {
    --queued_;
  }
}

void TaskCounts::close(const Context& context) {
  const auto known = open_.find(key_of(context, false));
  if (known == open_.end()) return;
  if (!known->second) --queued_;
  open_.erase(known);
}

void TaskCounts::ended(const Context& context, bool failed) {
  close(context);
  if (!failed) {
    ++done_;
  } else if (failed_.size() < kMost) {
    failed_.insert(attempts_hash(context));
  } else {
    ++more_failed_;
  }
}

void TaskCounts::saw(const TaskSubmit& submit) {
  const Context& context = *submit.context;
  if (!context.task_key) return;
  if (submit.state == "submitted") return open(context, false);
  if (submit.state == "started" || submit.state == "started_elsewhere") return open(context, true);
  // What ran here is known by its end.
  if (!open_.contains(key_of(context, false))) return;
  if (!submit.outcome || *submit.outcome == "aborted" || *submit.outcome == "unknown") return close(context);
  ended(context, *submit.outcome == "failed");
}

void TaskCounts::saw(const TaskFinish& finish) {
  if (finish.context->task_key) ended(*finish.context, finish.failed().value_or(false));
}

void TaskCounts::saw(const ContextChange& change) {
  if (!change.old_task_key || !change.after->task_key || change.pid) return;
  auto moved = open_.extract(static_cast<std::uint64_t>(*change.old_task_key));
  if (!moved) return;
  moved.key() = key_of(*change.after, false);
  const bool runs = moved.mapped();
  if (!open_.insert(std::move(moved)).inserted && !runs) --queued_;
}

}  // namespace tracer::internal
