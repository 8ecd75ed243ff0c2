// SPDX-License-Identifier: Apache-2.0
#include "report/subjects.hpp"

#include <algorithm>
#include <utility>

#include "base/number.hpp"
#include "base/tool_name.hpp"
#include "report/asked_work.hpp"
#include "report/bound_by.hpp"
#include "report/parallelism.hpp"
#include "report/time_shares.hpp"

namespace tracer::internal {
namespace {

constexpr std::string_view kPidPrefix = "pid:";

std::optional<std::uint32_t> pid_in(std::string_view text) {
  if (text.starts_with(kPidPrefix)) text.remove_prefix(kPidPrefix.size());
  const auto pid = parse_number<std::uint32_t>(text);
  return pid == 0u ? std::nullopt : pid;
}

SubjectProcess process_of(const ProcessExit& exit) {
  SubjectProcess process{exit.process, exit.begin_ns, exit.end_ns};
  process.exit_code = exit.exit_code;
  process.exit_signal = exit.exit_signal;
  // In which of them a failure began, the end of the task or run reports.
  process.failed = exit.failed();
  process.cpu_ns = exit.account.cpu_ns;
  process.peak_bytes = exit.account.peak_rss_bytes;
  process.read_bytes = bytes_read(exit.account);
  process.written_bytes = bytes_written(exit.account);
  process.ledger = exit.account.process_ledger;
  process.disk_wait_device = exit.disk_wait_device;
  process.disk_wait_device_ns = exit.disk_wait_device_ns.value_or(0);
  return process;
}

SubjectProcess process_of(const ProcessSample& sample) {
  SubjectProcess process{sample.process, sample.attached_ns.value_or(sample.process->start_ns), sample.time_ns, true};
  process.cpu_ns = sample.account.cpu_ns;
  process.peak_bytes = sample.account.peak_rss_bytes;
  process.read_bytes = bytes_read(sample.account);
  process.written_bytes = bytes_written(sample.account);
  process.ledger = sample.account.process_ledger;
  process.disk_wait_device = sample.disk_wait_device;
  process.disk_wait_device_ns = sample.disk_wait_device_ns.value_or(0);
  return process;
}

bool has_more_cpu_time(const SubjectProcess& a, const SubjectProcess& b) {
  return a.cpu_ns.value_or(0) > b.cpu_ns.value_or(0);
}

/// In order, and no more than so many.
template <class IsBefore>
void keep(std::vector<SubjectProcess>& list, const SubjectProcess& process, std::size_t most,
          const IsBefore& is_before) {
  list.insert(std::upper_bound(list.begin(), list.end(), process, is_before), process);
  if (list.size() > most) list.pop_back();
}

/// "samtools" is "samtools sort", too.
bool is_of_tool(const SubjectProcess& process, const std::string& asked) {
  const std::string tool = known_tool(*process.process->program).value_or("");
  return tool == asked || tool.starts_with(asked + ' ');
}

std::uint64_t overlap_ns(std::uint64_t a_begin, std::uint64_t a_end, std::uint64_t b_begin, std::uint64_t b_end) {
  const std::uint64_t begin = std::max(a_begin, b_begin);
  const std::uint64_t end = std::min(a_end, b_end);
  return end > begin ? end - begin : 0;
}

std::pair<std::uint64_t, std::uint64_t> span_of(const Subject& subject) {
  return subject.scope != nullptr ? std::pair(subject.scope->begin_ns, subject.scope->end_ns)
                                  : std::pair(subject.process->begin_ns, subject.process->end_ns);
}

/// While both ran, if it did as much at all times.
double cpu_together(const Neighbor& neighbor) {
  const std::uint64_t wall_ns = neighbor.scope->end_ns - std::min(neighbor.scope->begin_ns, neighbor.scope->end_ns);
  if (wall_ns == 0) return 0;
  return static_cast<double>(neighbor.scope->cpu_ns.value_or(Figure{}).value) *
         static_cast<double>(neighbor.together_ns) / static_cast<double>(wall_ns);
}

}  // namespace

std::optional<std::string> disk_wait_device_of(const Subject& subject) {
  if (subject.scope == nullptr) return subject.process->disk_wait_device;
  const auto& devices = subject.scope->disk_wait_ns;
  const auto longest = std::max_element(devices.begin(), devices.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  if (longest == devices.end()) return std::nullopt;
  return longest->first;
}

std::string name_of_scope(const SubjectScope& scope) { return name_of_scope(*scope.context, scope.is_run); }

Subjects::Subjects(std::string_view asked) : asked_(asked), pid_(pid_in(asked)) {
  book_.when_gone([this](ScopeId id, ScopeId into) { gone(id, into); });
}

/// Where two turn out to be one, that which has the key stays.
void Subjects::gone(ScopeId id, ScopeId into) {
  auto moved = scopes_.extract(id);
  if (!moved) return;
  if (into == ScopeId::kNone) {
    ++left_out_;
    return;
  }
  moved.key() = into;
  scopes_.insert(std::move(moved));
}

SubjectScope* Subjects::scope(const std::shared_ptr<const Context>& context, bool is_run, std::uint64_t time_ns) {
  const Book::ScopePtr in_book = book_.make(*context, is_run);
  if (!in_book) return nullptr;
  const auto known = scopes_.find(in_book->id);
  if (known != scopes_.end()) {
    known->second.end_ns = std::max(known->second.end_ns, time_ns);
    return &known->second;
  }
  if (scopes_.size() >= kMostScopes) {
    ++left_out_;
    return nullptr;
  }
  SubjectScope& made = scopes_[in_book->id];
  made.context = context;
  made.is_run = is_run;
  made.begin_ns = made.end_ns = time_ns;
  return &made;
}

void Subjects::add_process(const SubjectProcess& process) {
  if (process.process->pid == pid_ && of_pid_.size() < kMostOfPid) of_pid_.push_back(process);
  if (!asked_.empty() && is_of_tool(process, asked_)) keep(of_tool_, process, kMostOfTool, has_more_cpu_time);
  for (const bool is_run : {false, true}) {
    SubjectScope* const in = scope(process.process->context, is_run, process.end_ns);
    if (in == nullptr) continue;
    in->is_any_seen = true;
    if (process.failed && in->failures.size() < SubjectScope::kMostFailed) in->failures.push_back(process);
    if (process.process->context->engine_own) continue;
    if (const auto& device = process.disk_wait_device;
        device && (in->disk_wait_ns.size() < SubjectScope::kMostDevices || in->disk_wait_ns.contains(*device)))
      in->disk_wait_ns[*device] += process.disk_wait_device_ns;
    keep(in->largest, process, SubjectScope::kMostLargest, has_more_cpu_time);
    keep(in->longest, process, SubjectScope::kMostLongest,
         [](const SubjectProcess& a, const SubjectProcess& b) { return life_ns(a) > life_ns(b); });
  }
}

void Subjects::saw(const ProcessExit& exit, std::optional<std::uint64_t> cpu_before_ns) {
  living_.erase(exit.process->pid);
  SubjectProcess process = process_of(exit);
  process.cpu_before_ns = cpu_before_ns;
  add_process(process);
}

void Subjects::saw(const ContextChange& change) {
  if (change.pid) return;
  for (const bool is_run : {false, true})
    if (const auto known = scopes_.find(book_.id_of(*change.after, is_run)); known != scopes_.end())
      known->second.context = change.after;
}

template <class Finish>
void Subjects::add_finish(const Finish& finish, bool is_run) {
  SubjectScope* const in = scope(finish.context, is_run, finish.end_ns);
  if (in == nullptr) return;
  const TaskTotals& totals = finish.totals;
  in->context = finish.context;
  in->begin_ns = finish.begin_ns;
  in->end_ns = finish.end_ns;
  in->finished = true;
  in->exit_code = finish.exit_code;
  in->exit_signal = finish.exit_signal;
  in->processes = totals.processes;
  in->failed = totals.failed;
  in->ledger = finish.task_ledger;
  if constexpr (std::is_same_v<Finish, TaskFinish>) {
    in->requested = finish.requested;
    in->waits_for = finish.waits_for;
  }
  failures_[book_.id_of(*finish.context, is_run)] = totals.failures;
}

namespace {

/// What it had used before it was attached.
template <class E>
std::optional<std::uint64_t> cpu_before(const E& counted, const Event& whole) {
  const auto& cpu_ns = whole.get_if<E>()->account.cpu_ns;
  if (!counted.attached_ns || !cpu_ns || !counted.account.cpu_ns) return std::nullopt;
  return *cpu_ns - *counted.account.cpu_ns;
}

}  // namespace

void Subjects::add(const Event& whole) {
  const Event event = summary_.add(whole);
  if (const std::uint64_t time_ns = event.time_ns(); time_ns != 0) {
    if (first_ns_ == 0) first_ns_ = time_ns;
    last_ns_ = std::max(last_ns_, time_ns);
  }
  const auto* change = event.get_if<ContextChange>();
  if (change != nullptr) book_.saw(*change);
  paths_.add(event);
  if (change != nullptr) return saw(*change);
  if (const auto* finding = event.get_if<Finding>()) return findings_.add(*finding);
  if (const auto* end = event.get_if<SessionEnd>()) is_polled_ |= end->missed_at_most.has_value();
  if (const auto* exit = event.get_if<ProcessExit>()) return saw(*exit, cpu_before(*exit, whole));
  if (const auto* sample = event.get_if<ProcessSample>()) {
    SubjectProcess& living = living_[sample->process->pid] = process_of(*sample);
    living.cpu_before_ns = cpu_before(*sample, whole);
  } else if (const auto* run = event.get_if<RunStart>()) {
    scope(run->context, true, run->start_ns);
  } else if (const auto* task = event.get_if<TaskStart>()) {
    if (SubjectScope* const made = scope(task->context, false, task->start_ns)) made->requested = task->requested;
  } else if (const auto* done = event.get_if<TaskFinish>()) {
    add_finish(*done, false);
  } else if (const auto* over = event.get_if<RunFinish>()) {
    add_finish(*over, true);
  } else if (const auto* device = event.get_if<DeviceSample>()) {
    if (devices_.size() < kMostDeviceSamples)
      devices_.push_back({device->since_ns, device->time_ns, device->device_name.value_or("?"), device->busy_ns,
                          book_.id_of(*device->context, false), device->heaviest_bytes.value_or(0)});
  }
}

/// Of the processes that ended badly, the failures are those in which one began.
void Subjects::settle(SubjectScope& scope) const {
  const auto known = failures_.find(book_.id_of(*scope.context, scope.is_run));
  const auto began_in = [&](const SubjectProcess& process) {
    return known == failures_.end() ||
           std::any_of(known->second.begin(), known->second.end(),
                       [&](const FailedProcess& failed) { return failed.pid == process.process->pid; });
  };
  std::erase_if(scope.failures, [&](const SubjectProcess& each) { return !began_in(each); });
  for (auto* list : {&scope.largest, &scope.longest})
    for (SubjectProcess& each : *list) each.failed = each.failed && began_in(each);
}

/// They have the figures of their rows.
void Subjects::take_figures(const std::vector<ReportNode>& nodes) {
  for (const ReportNode& node : nodes) {
    take_figures(node.below);
    if (node.level != SummaryLevel::kRun && node.level != SummaryLevel::kTask) continue;
    const auto known = scopes_.find(book_.id_of(node.row.task, node.level == SummaryLevel::kRun));
    if (known == scopes_.end()) continue;
    SubjectScope& scope = known->second;
    scope.cpu_ns = node.row.cpu_ns;
    scope.memory_bytes = node.row.memory_bytes;
    scope.memory_at_most_bytes = node.row.memory_at_most_bytes;
    scope.read_bytes = node.row.read_bytes;
    scope.written_bytes = node.row.written_bytes;
    if (!scope.finished || node.row.first_start_ns == 0) continue;
    // One of several that were announced with the same key is no more than a part of the row.
    scope.processes = std::max(scope.processes, node.row.processes);
    scope.begin_ns = std::min(scope.begin_ns, node.row.first_start_ns);
    scope.end_ns = std::max(scope.end_ns, node.row.last_end_ns);
  }
}

void Subjects::finish(const RecordingDamage& damage) {
  for (const auto& [pid, process] : living_) add_process(process);
  living_.clear();
  for (auto& [key, each] : scopes_) settle(each);
  take_figures(make_report(summary_, {.damage = damage}).tree);
}

const SubjectScope* Subjects::scope_by(ScopeId id) const {
  const auto known = scopes_.find(id);
  return known != scopes_.end() ? &known->second : nullptr;
}
const SubjectScope* Subjects::task_by(Key key) const {
  const Book::ScopePtr in_book = book_.find_key(static_cast<std::uint64_t>(key));
  return in_book ? scope_by(in_book->id) : nullptr;
}
const SubjectScope* Subjects::task_of(const Context& context) const { return scope_by(book_.id_of(context, false)); }
const SubjectScope* Subjects::run_of(const Context& context) const { return scope_by(book_.id_of(context, true)); }

std::vector<Subject> Subjects::find(std::string_view asked) const {
  std::vector<Subject> found;
  const auto add_scopes = [&](const auto& fits) {
    for (const auto& [key, each] : scopes_) {
      const auto names = names_of_scope(*each.context, each.is_run);
      if (std::any_of(names.begin(), names.end(), fits)) found.push_back({&each, nullptr});
    }
  };
  if (!asked.starts_with(kPidPrefix)) {
    add_scopes([asked](const std::string& name) { return name == asked; });
    if (found.empty() && of_pid_.empty())
      add_scopes([asked](const std::string& name) { return name.find(asked) != std::string::npos; });
  }
  std::sort(found.begin(), found.end(), [](const Subject& a, const Subject& b) {
    return a.scope->is_run != b.scope->is_run ? a.scope->is_run : a.scope->begin_ns < b.scope->begin_ns;
  });
  for (const SubjectProcess& each : of_pid_) found.push_back({nullptr, &each});
  if (found.empty())
    for (const SubjectProcess& each : of_tool_) found.push_back({nullptr, &each});
  return found;
}

std::vector<const SubjectScope*> Subjects::tasks() const {
  std::vector<const SubjectScope*> all;
  for (const auto& [key, each] : scopes_)
    if (!each.is_run && !is_within_others(each.processes, each.is_any_seen) &&
        paths_.tasks_count(each.context->run_key))
      all.push_back(&each);
  std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) {
    if (a->end_ns - a->begin_ns != b->end_ns - b->begin_ns) return a->end_ns - a->begin_ns > b->end_ns - b->begin_ns;
    // A task of one engine is often all of a task of another.
    return a->begin_ns != b->begin_ns ? a->begin_ns < b->begin_ns : name_of_scope(*a) < name_of_scope(*b);
  });
  return all;
}

std::vector<const SubjectScope*> Subjects::runs() const {
  std::vector<const SubjectScope*> all;
  for (const auto& [key, each] : scopes_)
    if (each.is_run) all.push_back(&each);
  std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->begin_ns < b->begin_ns; });
  return all;
}

std::vector<Finding> Subjects::findings_of(const Subject& subject) const {
  std::vector<Finding> all = findings();
  std::erase_if(all, [&](const Finding& finding) {
    if (subject.process != nullptr)
      return finding.pid != subject.process->process->pid || finding.start_ns != subject.process->process->start_ns;
    const Context& context = *subject.scope->context;
    return subject.scope->is_run ? finding.context->run_key != context.run_key
                                 : finding.context->task_key != context.task_key;
  });
  return all;
}

std::vector<Neighbor> Subjects::neighbors_of(const Subject& subject) const {
  const auto [begin_ns, end_ns] = span_of(subject);
  const bool of_run = subject.scope != nullptr && subject.scope->is_run;
  const SubjectScope* const own =
      subject.scope != nullptr ? subject.scope : task_of(*subject.process->process->context);
  std::vector<Neighbor> all;
  for (const auto& [key, each] : scopes_) {
    if (&each == own || each.is_run != of_run) continue;
    const std::uint64_t together_ns = overlap_ns(begin_ns, end_ns, each.begin_ns, each.end_ns);
    if (together_ns != 0) all.push_back({&each, together_ns});
  }
  std::sort(all.begin(), all.end(), [](const Neighbor& a, const Neighbor& b) {
    const double left = cpu_together(a);
    const double right = cpu_together(b);
    return left != right ? left > right : a.scope->begin_ns < b.scope->begin_ns;
  });
  return all;
}

std::vector<BusyWhile> Subjects::devices_of(const Subject& subject) const {
  const auto [begin_ns, end_ns] = span_of(subject);
  const ScopeId own =
      book_.id_of(subject.scope != nullptr ? *subject.scope->context : *subject.process->process->context, false);
  std::map<std::string, BusyWhile> by_name;
  std::map<std::string, std::map<ScopeId, std::uint64_t>> asked_by;
  for (const DeviceUse& use : devices_) {
    const std::uint64_t span_ns = overlap_ns(begin_ns, end_ns, use.since_ns, use.time_ns);
    if (span_ns == 0) continue;
    BusyWhile& device = by_name[use.name];
    device.name = use.name;
    device.span_ns += span_ns;
    // A sample that the subject shares with the time around it counts by its part.
    if (use.busy_ns)
      device.busy_ns = device.busy_ns.value_or(0) +
                       static_cast<std::uint64_t>(static_cast<double>(*use.busy_ns) * static_cast<double>(span_ns) /
                                                  static_cast<double>(use.time_ns - use.since_ns));
    const bool of_own_run = subject.scope != nullptr && subject.scope->is_run;
    if (use.task != ScopeId::kNone && use.task != own && !of_own_run) asked_by[use.name][use.task] += use.bytes;
  }
  std::vector<BusyWhile> all;
  for (auto& [name, device] : by_name) {
    const auto& others = asked_by[name];
    const auto most = std::max_element(others.begin(), others.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != others.end()) {
      device.other = scope_by(most->first);
      device.other_bytes = most->second;
    }
    all.push_back(device);
  }
  return all;
}

std::optional<CriticalPath> Subjects::path_of(const SubjectScope& run) const {
  return run.is_run && run.context->run_key ? paths_.path_of(*run.context->run_key) : std::nullopt;
}

ReportRow row_of_subject(const Subject& subject) {
  ReportRow row;
  if (subject.scope != nullptr) {
    row.task_ledger = subject.scope->ledger;
    row.waits_for = subject.scope->waits_for;
    if (row.task_ledger) row.time = time_shares(*row.task_ledger);
    if (subject.scope->cpu_ns) row.parallelism = parallelism_of(subject.scope->cpu_ns->value, row.task_ledger);
  } else {
    row.time = time_shares(subject.process->ledger, std::nullopt);
  }
  set_bound(row);
  return row;
}

}  // namespace tracer::internal
