// SPDX-License-Identifier: Apache-2.0
#include "report/state_row.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

namespace tracer::internal {

std::string id_of(const StateRow& row) {
  const auto number = static_cast<std::uint64_t>(row.scope->id);
  // A name may be long.
  return row.level == SummaryLevel::kStep ? fmt::format("{}/{:x}", number, std::hash<std::string>()(row.step))
                                          : fmt::format("{}", number);
}

void TasksBelow::join(StateRow& task) {
  (task.is_over ? over_ : open_).insert(&task);
  if (task.is_over) stale_ = true;
}

void TasksBelow::leave(StateRow& task) {
  open_.erase(&task);
  if (over_.erase(&task) != 0) stale_ = true;
}

void TasksBelow::add(const StateRow& task, Over& over) {
  add_sums(over.sums, task.sums);
  if (has_begun(task.sums.row)) over.largest = larger(over.largest, task.sums.memory.peak());
}

void TasksBelow::close(StateRow& task) {
  open_.erase(&task);
  over_.insert(&task);
  add(task, sums_);
}

void TasksBelow::open(StateRow& task) {
  over_.erase(&task);
  open_.insert(&task);
  stale_ = true;
}

void TasksBelow::drop(StateRow& task) {
  if (!dropped_) dropped_ = std::make_unique<RowSums>();
  add_sums(*dropped_, task.sums);
  if (open_.erase(&task) != 0) add_sums(sums_.sums, task.sums);
  over_.erase(&task);
}

void TasksBelow::add_dropped(const TasksBelow& other) {
  if (!other.dropped_) return;
  if (!dropped_) dropped_ = std::make_unique<RowSums>();
  add_sums(*dropped_, *other.dropped_);
  stale_ = true;
}

const TasksBelow::Over& TasksBelow::over() {
  if (!stale_) return sums_;
  stale_ = false;
  sums_ = {dropped_ ? *dropped_ : RowSums{}, std::nullopt};
  for (const StateRow* const task : over_) add(*task, sums_);
  return sums_;
}

std::vector<StateRow*> TasksBelow::all() const {
  std::vector<StateRow*> tasks(open_.begin(), open_.end());
  tasks.insert(tasks.end(), over_.begin(), over_.end());
  return tasks;
}

namespace {

bool lives(const StateRow& row) { return !row.living.empty() || !row.folded.empty(); }

}  // namespace

bool is_left(const StateRow& row) {
  return !row.scope->started && !lives(row) && !row.awaited && row.sums.row.submitted.state.empty() &&
         (!row.tasks || row.tasks->open().empty());
}

bool is_any_seen(const StateRow& row) {
  const SummaryRow& sums = row.sums.row;
  return sums.processes != 0 || sums.first_start_ns != 0 || sums.own_parts != 0 || lives(row);
}

bool has_ended(const StateRow& row) {
  if (row.level != SummaryLevel::kRun) return row.finished;
  const auto& open = row.tasks->open();
  return row.finished ? std::none_of(open.begin(), open.end(), [](const StateRow* task) { return lives(*task); })
                      : is_left(row);
}

}  // namespace tracer::internal
