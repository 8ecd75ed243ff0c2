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
  if (not_normal_) not_normal_->saw(exit);
  ledgers_.saw(exit);
  failures_.saw(exit, events);
  full_.saw(exit);
  lived(spans_.ended(exit), events);
  slowness_.saw(exit);
  pipes_.saw(exit);
}

void Insight::snapshot(const SnapshotEnd& end, std::vector<Event>& events) {
  if (not_normal_) not_normal_->saw(end, events);
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
  if (not_normal_) not_normal_->saw(change);
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

void Insight::end(const SessionEnd& end, std::vector<Event>& events) {
  failures_.finish(end.time_ns, events);
  full_.finish(end.time_ns, events);
  if (not_normal_) not_normal_->finish(end.time_ns, events);
  book_.close_all(end.time_ns, events);
}

template <class E>
void Insight::begin(const E& start) {
  if (not_normal_) not_normal_->saw(start);
  ledgers_.saw(start);
  failures_.saw(start);
  idle_.saw(start);
}

void Insight::add(Event event, std::vector<Event>& events) {
  const EventKind kind = event.kind();
  if (kind == EventKind::kTaskFinish) return add_task(*event.get_if<TaskFinish>(), events);
  if (kind == EventKind::kRunFinish) return add_run(*event.get_if<RunFinish>(), events);
  if (kind == EventKind::kSessionEnd) end(*event.get_if<SessionEnd>(), events);
  events.push_back(event);
  switch (kind) {
    case EventKind::kProcessStart: {
      const auto& start = *event.get_if<ProcessStart>();
      ledgers_.saw(start);
      return began(start.process, start.time_ns);
    }
    case EventKind::kProcessExec: {
      const auto& exec = *event.get_if<ProcessExec>();
      ledgers_.saw(exec);
      return began(exec.process, exec.time_ns);
    }
    case EventKind::kProcessExit: return ended(*event.get_if<ProcessExit>(), events);
    case EventKind::kProcessSample: {
      const auto& sample = *event.get_if<ProcessSample>();
      ledgers_.saw(sample);
      lived(spans_.sampled(sample), events);
      return pipes_.saw(sample);
    }
    case EventKind::kSnapshotEnd: return snapshot(*event.get_if<SnapshotEnd>(), events);
    case EventKind::kOwnWork: return ledgers_.saw(*event.get_if<OwnWork>());
    case EventKind::kContextChange: return changed(*event.get_if<ContextChange>(), events);
    case EventKind::kRunStart: return begin(*event.get_if<RunStart>());
    case EventKind::kTaskStart: return begin(*event.get_if<TaskStart>());
    case EventKind::kOomKill: {
      const auto& kill = *event.get_if<OomKill>();
      if (not_normal_) not_normal_->saw(kill);
      return failures_.saw(kill);
    }
    case EventKind::kCgroupSample: return slowness_.saw(*event.get_if<CgroupSample>());
    case EventKind::kDeviceSample: {
      const auto& device = *event.get_if<DeviceSample>();
      return disks_.saw(device, device.heaviest_pid ? failures_.known_process(*device.heaviest_pid) : nullptr);
    }
    case EventKind::kFileUse: {
      const auto& use = *event.get_if<FileUse>();
      disks_.saw(use);
      return full_.saw(use);
    }
    default: return;
  }
}

}  // namespace tracer::internal
