// SPDX-License-Identifier: Apache-2.0
#include "insight/insight.hpp"

#include <type_traits>
#include <utility>

namespace tracer::internal {
namespace {

template <class>
FindingBook& for_each_one(FindingBook& findings) {
  return findings;
}

template <class... D>
std::tuple<D...> each_of(std::type_identity<std::tuple<D...>>, FindingBook& findings) {
  return std::tuple<D...>(for_each_one<D>(findings)...);
}

}  // namespace

Insight::Insight(std::uint32_t cpus, ScopeCounts* counts, std::shared_ptr<Accounts> accounts, const FindingRules& rules)
    : book_(accounts),
      findings_(rules, book_, cpus, accounts),
      ledgers_(book_, cpus, counts, accounts),
      detectors_(each_of(std::type_identity<Detectors>(), findings_)) {
  std::apply([this](auto&... each) { (all_.push_back(&each), ...); }, detectors_);
}

void Insight::use(std::unique_ptr<SessionHistory> history, std::uint64_t wall_offset_ns) {
  not_normal_ = std::make_unique<NotNormal>(findings_, std::move(history), wall_offset_ns, on_this_host_);
  get<StallFindings>().use([this](const Context& context) { return not_normal_->pace_of(context); });
  // What failed comes first.
  all_.insert(all_.begin() + 2, not_normal_.get());
}

template <class Finish>
void Insight::finished(Finish finish, std::vector<Event>& events) {
  constexpr bool kIsRun = std::is_same_v<Finish, RunFinish>;
  ScopeEnd over{book_.id_of(*finish.context, kIsRun), finish.context, finish.time_ns, ledgers_.finish(finish)};
  if constexpr (kIsRun) {
    over.run = &finish;
  } else {
    over.task = &finish;
  }
  events.emplace_back(finish);
  for (Detector* each : all_) each->scope_ended(over, events);
  findings_.close_task(*finish.context, kIsRun, finish.time_ns, events);
  book_.finished(*finish.context, kIsRun);
}

void Insight::began(const RunStart& start) {
  if (book_.saw(start)) ledgers_.began(start);
  for (Detector* each : all_) each->run_began(start);
}

void Insight::began(const TaskStart& start) {
  if (book_.saw(start)) ledgers_.began(start);
  for (Detector* each : all_) each->task_began(start);
}

void Insight::began(const std::shared_ptr<const Process>& process, std::uint64_t time_ns) {
  for (Detector* each : all_) each->process_began(process, time_ns);
}

void Insight::lived(const ProcessSpan& span, std::vector<Event>& events) {
  for (Detector* each : all_) each->process_lived(span, events);
}

void Insight::ended(const ProcessExit& exit, std::vector<Event>& events) {
  ledgers_.saw(exit);
  for (Detector* each : all_) each->process_ended(exit, events);
  lived(spans_.ended(exit), events);
}

void Insight::snapshot(const SnapshotEnd& end, std::vector<Event>& events) {
  ledgers_.saw(end);
  for (Detector* each : all_) each->snapshot_ended(end, events);
  ledgers_.each_living([&](const ScopeFigures& figures) {
    for (Detector* each : all_) each->scope_lives(figures, end.time_ns, events);
  });
}

void Insight::changed(const ContextChange& change, std::vector<Event>& events) {
  book_.saw(change);
  for (Detector* each : all_) each->changed(change);
  if (change.pid) return;
  // What is open under a key that is no more would stay so.
  if (change.old_task_key) findings_.close_task(*change.before, false, change.time_ns, events);
  if (change.old_run_key) findings_.close_task(*change.before, true, change.time_ns, events);
}

void Insight::end(const SessionEnd& end, std::vector<Event>& events) {
  for (Detector* each : all_) each->session_ends(end.time_ns, events);
  findings_.close_all(end.time_ns, events);
}

void Insight::add(Event event, std::vector<Event>& events) {
  const EventKind kind = event.kind();
  if (kind == EventKind::kTaskFinish) return finished(*event.get_if<TaskFinish>(), events);
  if (kind == EventKind::kRunFinish) return finished(*event.get_if<RunFinish>(), events);
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
      for (Detector* each : all_) each->process_sampled(sample);
      return;
    }
    case EventKind::kSnapshotEnd: return snapshot(*event.get_if<SnapshotEnd>(), events);
    case EventKind::kOwnWork: return ledgers_.saw(*event.get_if<OwnWork>());
    case EventKind::kContextChange: return changed(*event.get_if<ContextChange>(), events);
    case EventKind::kRunStart: return began(*event.get_if<RunStart>());
    case EventKind::kTaskStart: return began(*event.get_if<TaskStart>());
    case EventKind::kTaskSubmit:
      for (Detector* each : all_) each->task_submitted(*event.get_if<TaskSubmit>());
      return;
    case EventKind::kOomKill:
      for (Detector* each : all_) each->process_killed(*event.get_if<OomKill>());
      return;
    case EventKind::kCgroupSample:
      for (Detector* each : all_) each->cgroup_sampled(*event.get_if<CgroupSample>());
      return;
    case EventKind::kDeviceSample: {
      const auto& device = *event.get_if<DeviceSample>();
      const auto heaviest = device.heaviest_pid ? get<FailureFindings>().known_process(*device.heaviest_pid) : nullptr;
      for (Detector* each : all_) each->device_sampled(device, heaviest);
      return;
    }
    case EventKind::kFileUse:
      for (Detector* each : all_) each->file_used(*event.get_if<FileUse>());
      return;
    default: return;
  }
}

}  // namespace tracer::internal
