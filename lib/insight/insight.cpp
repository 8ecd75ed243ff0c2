// SPDX-License-Identifier: Apache-2.0
#include "insight/insight.hpp"

#include <utility>

namespace tracer::internal {

void Insight::add_task(const TaskFinish& given, std::vector<Event>& events) {
  TaskFinish finish = given;
  const auto figures = ledgers_.finish(finish);
  events.emplace_back(finish);
  failures_.finished(finish, events);
  full_.finished(finish, events);
  if (not_normal_) not_normal_->finished(finish, events);
  finished(*finish.context, false, figures, finish.time_ns, events);
}

void Insight::add_run(const RunFinish& given, std::vector<Event>& events) {
  RunFinish finish = given;
  const auto figures = ledgers_.finish(finish);
  events.emplace_back(finish);
  failures_.finished(finish, events);
  full_.finished(finish, events);
  if (not_normal_) not_normal_->finished(finish, events);
  finished(*finish.context, true, figures, finish.time_ns, events);
}

void Insight::finished(const Context& context, bool is_run, const std::optional<ScopeFigures>& figures,
                       std::uint64_t time_ns, std::vector<Event>& events) {
  slowness_.finished(context, is_run, figures, time_ns, events);
  disks_.finished(context, is_run, figures, time_ns, events);
  idle_.finished(context, is_run, figures, time_ns, events);
  pipes_.finished(context, is_run, figures, time_ns, events);
  stalls_.finished(context, is_run);
  book_.close_task(context, is_run, time_ns, events);
}

void Insight::began(const std::shared_ptr<const Process>& process, std::uint64_t time_ns) {
  failures_.saw(process);
  pipes_.saw(process);
  stalls_.moved(*process, time_ns);
}

void Insight::lived(const ProcessSpan& span, std::vector<Event>& events) {
  slowness_.saw(span);
  process_slowness_.saw(span, events);
  disks_.saw(span);
  idle_.saw(span);
  stalls_.saw(span);
  if (not_normal_) not_normal_->saw(span);
}

void Insight::ended(const ProcessExit& exit, std::vector<Event>& events) {
  ledgers_.saw(exit);
  failures_.saw(exit, events);
  full_.saw(exit);
  lived(spans_.ended(exit), events);
  slowness_.saw(exit);
  pipes_.saw(exit);
}

void Insight::snapshot(const SnapshotEnd& end, std::vector<Event>& events) {
  ledgers_.saw(end);
  full_.saw(end, events);
  disks_.snapshot(end.time_ns);
  ledgers_.each_living([&](const ScopeFigures& figures) {
    slowness_.living(figures, end.time_ns, events);
    disks_.living(figures, end.time_ns, events);
    idle_.living(figures, end.time_ns, events);
    pipes_.living(figures, end.time_ns, events);
    stalls_.living(figures, end.time_ns, events);
  });
  stalls_.snapshot();
}

/// What is open under a key that is no more would stay so.
void Insight::changed(const ContextChange& change, std::vector<Event>& events) {
  ledgers_.saw(change);
  slowness_.saw(change);
  failures_.saw(change);
  disks_.saw(change);
  full_.saw(change);
  idle_.saw(change);
  pipes_.saw(change);
  stalls_.saw(change);
  if (change.pid) return;
  if (change.old_task_key) book_.close_task(*change.before, false, change.time_ns, events);
  if (change.old_run_key) book_.close_task(*change.before, true, change.time_ns, events);
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
    full_.finish(end->time_ns, events);
    if (not_normal_) not_normal_->finish(end->time_ns, events);
    book_.close_all(end->time_ns, events);
    events.push_back(std::move(event));
    return;
  }
  events.push_back(event);
  if (not_normal_) compare(event, events);
  if (const auto* start = event.get_if<ProcessStart>()) {
    ledgers_.saw(*start);
    began(start->process, start->time_ns);
  } else if (const auto* exec = event.get_if<ProcessExec>()) {
    ledgers_.saw(*exec);
    began(exec->process, exec->time_ns);
  } else if (const auto* exit = event.get_if<ProcessExit>()) {
    ended(*exit, events);
  } else if (const auto* sample = event.get_if<ProcessSample>()) {
    ledgers_.saw(*sample);
    lived(spans_.sampled(*sample), events);
    pipes_.saw(*sample);
  } else if (const auto* snapshot_end = event.get_if<SnapshotEnd>()) {
    snapshot(*snapshot_end, events);
  } else if (const auto* work = event.get_if<OwnWork>()) {
    ledgers_.saw(*work);
  } else if (const auto* change = event.get_if<ContextChange>()) {
    changed(*change, events);
  } else if (const auto* run = event.get_if<RunStart>()) {
    ledgers_.saw(*run);
    failures_.saw(*run);
    idle_.saw(*run);
  } else if (const auto* task = event.get_if<TaskStart>()) {
    ledgers_.saw(*task);
    failures_.saw(*task);
    idle_.saw(*task);
  } else if (const auto* kill = event.get_if<OomKill>()) {
    failures_.saw(*kill);
  } else if (const auto* cgroup = event.get_if<CgroupSample>()) {
    slowness_.saw(*cgroup);
  } else if (const auto* device = event.get_if<DeviceSample>()) {
    disks_.saw(*device, device->heaviest_pid ? failures_.known_process(*device->heaviest_pid) : nullptr);
  } else if (const auto* use = event.get_if<FileUse>()) {
    disks_.saw(*use);
    full_.saw(*use);
  }
}

}  // namespace tracer::internal
