// SPDX-License-Identifier: Apache-2.0
#include "insight/insight.hpp"

#include <utility>

namespace tracer::internal {

void Insight::add_task(const TaskFinish& given, std::vector<Event>& events) {
  TaskFinish finish = given;
  ledgers_.finish(finish);
  events.emplace_back(finish);
  failures_.finished(finish, events);
  if (not_normal_) not_normal_->finished(finish, events);
  book_.close_task(*finish.context, false, finish.time_ns, events);
}

void Insight::add_run(const RunFinish& given, std::vector<Event>& events) {
  RunFinish finish = given;
  ledgers_.finish(finish);
  events.emplace_back(finish);
  failures_.finished(finish, events);
  if (not_normal_) not_normal_->finished(finish, events);
  book_.close_task(*finish.context, true, finish.time_ns, events);
}

void Insight::compare(const Event& event, std::vector<Event>& events) {
  if (const auto* snapshot = event.get_if<SnapshotEnd>()) return not_normal_->saw(*snapshot, events);
  if (const auto* exit = event.get_if<ProcessExit>()) return not_normal_->saw(*exit);
  if (const auto* run = event.get_if<RunStart>()) return not_normal_->saw(*run);
  if (const auto* task = event.get_if<TaskStart>()) return not_normal_->saw(*task);
  if (const auto* change = event.get_if<ContextChange>()) return not_normal_->saw(*change);
  if (const auto* kill = event.get_if<OomKill>()) return not_normal_->saw(*kill);
}

void Insight::add(Event event, std::vector<Event>& events) {
  if (const auto* task = event.get_if<TaskFinish>()) return add_task(*task, events);
  if (const auto* run = event.get_if<RunFinish>()) return add_run(*run, events);
  if (const auto* end = event.get_if<SessionEnd>()) {
    failures_.finish(end->time_ns, events);
    if (not_normal_) not_normal_->finish(end->time_ns, events);
    book_.close_all(end->time_ns, events);
    events.push_back(std::move(event));
    return;
  }
  events.push_back(event);
  if (not_normal_) compare(event, events);
  if (const auto* start = event.get_if<ProcessStart>()) {
    ledgers_.saw(*start);
    failures_.saw(start->process);
  } else if (const auto* exec = event.get_if<ProcessExec>()) {
    ledgers_.saw(*exec);
    failures_.saw(exec->process);
  } else if (const auto* exit = event.get_if<ProcessExit>()) {
    ledgers_.saw(*exit);
    failures_.saw(*exit, events);
  } else if (const auto* sample = event.get_if<ProcessSample>()) {
    ledgers_.saw(*sample);
  } else if (const auto* snapshot = event.get_if<SnapshotEnd>()) {
    ledgers_.saw(*snapshot);
  } else if (const auto* work = event.get_if<OwnWork>()) {
    ledgers_.saw(*work);
  } else if (const auto* change = event.get_if<ContextChange>()) {
    ledgers_.saw(*change);
  } else if (const auto* run = event.get_if<RunStart>()) {
    ledgers_.saw(*run);
    failures_.leads(run->pid, run->start_ns);
  } else if (const auto* task = event.get_if<TaskStart>()) {
    ledgers_.saw(*task);
    failures_.leads(task->pid, task->start_ns);
  } else if (const auto* kill = event.get_if<OomKill>()) {
    failures_.saw(*kill);
  }
}

}  // namespace tracer::internal
