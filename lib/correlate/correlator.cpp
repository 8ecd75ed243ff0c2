// SPDX-License-Identifier: Apache-2.0
#include "correlate/correlator.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "context/layers.hpp"
#include "correlate/cgroup_samples.hpp"
#include "correlate/folding.hpp"

namespace tracer::internal {
namespace {

/// The kernel side that took it in after an earlier one knows of no exec before: its program is the one that is known.
bool runs_program(const TrackedProcess& tracked, std::uint64_t start_ns) noexcept {
  return tracked.runs_program(start_ns) || (!tracked.base_known && start_ns == tracked.process->start_ns);
}

/// It was taken over after something that is heard of only now.
void attach_before(TrackedProcess& tracked, std::uint64_t time_ns) noexcept {
  if (!tracked.ledger_known && tracked.attached_ns) tracked.attached_ns = std::min(*tracked.attached_ns, time_ns);
}

}  // namespace

Correlator::Correlator(Rules rules, FilterEvaluator filter, std::size_t max_processes, HostQuestions* host)
    : rules_(std::move(rules)),
      resolver_(rules_.engines, rules_.tools, rules_.ask_notes, rules_.most_announcements, rules_.key_origin,
                rules_.accounts),
      facts_(resolver_, open_labels_),
      cgroups_(host),
      programs_(rules_.tools, rules_.mask_secrets ? rules_.secrets : nullptr),
      processes_(programs_, resolver_, cgroups_, std::move(filter), rules_.find_context, max_processes),
      samples_(host),
      devices_(rules_.accounts),
      joins_(family_joins(rules_.accounts)) {
  if (rules_.command_pid != 0) resolver_.add_command(rules_.command_pid);
}

void Correlator::on_record(const Record& record, std::vector<Event>& events) {
  std::visit([&](const auto& r) { on(r, events); }, record);
}

void Correlator::stop(Family family, std::uint64_t time_ns, std::vector<Event>& events) {
  for (const auto& join : joins_)
    if (join->family() == family) end(*join, time_ns, events, std::numeric_limits<std::size_t>::max());
  std::erase_if(joins_, [family](const auto& join) { return join->family() == family; });
  for (const auto& join : joins_) join->without(family);
  if (family == Family::kWaits) ledgers_ = false;
  if (family == Family::kDisks) devices_.stop();
}

/// What no ledger can be made of any more.
void Correlator::forget_unseen(Account& account, bool ledger_known) const noexcept {
  if (ledgers_ && ledger_known) return;
  account.ledger.reset();
  account.process_ledger.reset();
}

std::vector<ProcessSample> Correlator::take_samples() {
  std::vector<ProcessSample> samples = samples_.take();
  for (ProcessSample& sample : samples) {
    const TrackedProcess* const tracked = processes_.find(sample.process->pid, sample.process->start_ns);
    forget_unseen(sample.account, tracked == nullptr || tracked->ledger_known);
    for (const auto& join : joins_) join->at_sample(sample);
  }
  return samples;
}

void Correlator::label_ended(const std::shared_ptr<const Context>& labels, std::uint64_t time_ns,
                             std::vector<Event>& events) {
  finish_over(open_labels_.close(labels), time_ns, events);
}

void Correlator::own_work(const std::shared_ptr<const Context>& labels, pid_t pid, OwnWork work,
                          std::vector<Event>& events) {
  TrackedProcess* const own = processes_.find(static_cast<std::uint32_t>(pid));
  if (!own || own->selection != Selection::kSelected) return;
  TrackedProcess& tracked = *own;
  refresh_context(tracked, tracked.context_id);
  announce(tracked, events);
  ContextPlace place = tracked.place;
  auto process = std::make_shared<Process>(*tracked.process);
  if (labels) {
    resolver_.label(place, labels, *process, false);
    process->context = resolver_.context_of(place, *process);
  }
  work.process = std::move(process);
  add_changes(work.time_ns, events);
  facts_.add_own_work(place.scope, tracked.entered, work, events);
  events.emplace_back(std::move(work));
}

void Correlator::end_labels(std::uint64_t time_ns, std::vector<Event>& events) {
  finish_over(open_labels_.close_all(), time_ns, events);
}

bool Correlator::end(std::uint64_t time_ns, std::vector<Event>& events, std::size_t most) {
  return std::all_of(joins_.begin(), joins_.end(), [&](const auto& join) { return end(*join, time_ns, events, most); });
}

/// A join has nothing more of a process that it has ended: what came before is passed over quickly.
bool Correlator::end(FamilyJoin& join, std::uint64_t time_ns, std::vector<Event>& events, std::size_t most) {
  for (const auto& [pid, tracked] : processes_.all()) {
    if (tracked.announced) join.at_end(time_ns, tracked.process, events);
    if (events.size() >= most) return false;
  }
  return true;
}

void Correlator::finish_over(const OpenLabels::Scopes& scopes, std::uint64_t time_ns, std::vector<Event>& events) {
  if (scopes.empty()) return;
  add_changes(time_ns, events);
  for (const auto& scope : scopes) facts_.finish_if_over(*scope, time_ns, events);
}

std::vector<Event> Correlator::living() const {
  std::vector<const TrackedProcess*> entries;
  for (const auto& [pid, tracked] : processes_.all())
    if (tracked.announced) entries.push_back(&tracked);
  std::sort(entries.begin(), entries.end(), [](const TrackedProcess* a, const TrackedProcess* b) {
    return std::pair(a->started_ns, a->process->pid) < std::pair(b->started_ns, b->process->pid);
  });
  std::vector<Event> events;
  std::set<const Scope*> told;
  for (const TrackedProcess* tracked : entries) {
    facts_.add_starts(tracked->entered, told, events);
    events.emplace_back(ProcessStart{tracked->started_ns, tracked->process, tracked->attached_ns});
  }
  return events;
}

void Correlator::begin_snapshot() {
  samples_.clear();
  cgroup_memory_.clear();
  devices_.clear();
  host_.clear();
}

void Correlator::end_snapshot(std::uint64_t time_ns, Folding folding, std::vector<Event>& events) {
  std::vector<ProcessSample> samples = take_samples();
  samples_.end_round();
  const SnapshotEnd end{time_ns, samples.size()};
  add_changes(time_ns, events);
  for (ProcessSample& sample : samples) {
    sample.time_ns = time_ns;
    TrackedProcess* const tracked = processes_.find(sample.process->pid);
    if (!tracked) continue;
    if (tracked->announced)
      facts_.move(tracked->entered, tracked->place, *sample.process, tracked->begin_ns, time_ns, events);
    facts_.add(tracked->entered, sample);
    tracked->note_memory(sample);
  }
  facts_.end_round();
  note_growth(samples);
  note_rest(samples, time_ns);
  host_.take(samples, processes_, events);
  std::vector<CgroupSample> cgroups =
      cgroup_samples(cgroup_memory_, samples, cgroups_, processes_.filter().selects_all());
  cgroup_memory_.clear();
  events.reserve(events.size() + samples.size() + cgroups.size() + 1);
  if (folding == Folding::kOfMany) {
    fold(std::move(samples), static_cast<std::uint32_t>(::getpid()), events);
  } else {
    std::move(samples.begin(), samples.end(), std::back_inserter(events));
  }
  std::move(cgroups.begin(), cgroups.end(), std::back_inserter(events));
  devices_.take(time_ns, events);
  events.emplace_back(end);
}

void Correlator::note_growth(const std::vector<ProcessSample>& samples) {
  constexpr std::uint64_t kYoungNs = 2'000'000'000;
  constexpr std::uint64_t kLeastGrowth = 1u << 20;
  std::uint64_t bytes = 0;
  bool young = false;
  for (const ProcessSample& sample : samples) {
    bytes += sample.rss_anonymous_bytes.value_or(0) + sample.rss_file_bytes.value_or(0) +
             sample.rss_shared_bytes.value_or(0);
    young = young || sample.time_ns < sample.process->start_ns + kYoungNs;
  }
  memory_moves_ = young || bytes > resident_bytes_ + std::max(kLeastGrowth, resident_bytes_ / 50);
  resident_bytes_ = bytes;
}

void Correlator::note_rest(const std::vector<ProcessSample>& samples, std::uint64_t time_ns) {
  constexpr std::uint64_t kMostPartOfCpu = 20;
  std::uint64_t cpu_ns = 0;
  bool in_scope = false;
  for (const ProcessSample& sample : samples) {
    cpu_ns += sample.account.cpu_ns.value_or(sample.account.cpu_at_least_ns.value_or(0));
    in_scope = in_scope || sample.process->context->run_key || sample.process->context->task_key;
  }
  // Where one has ended, or begun another program, the sum may be less.
  const bool computes =
      cpu_ns < cpu_ns_ || (cpu_ns - cpu_ns_) * kMostPartOfCpu > time_ns - std::min(time_ns, snapshot_ns_);
  at_rest_ = !memory_moves_ && !in_scope && !computes;
  cpu_ns_ = cpu_ns;
  snapshot_ns_ = time_ns;
}

/// More may be known by now of the run or task that it is in, or it is in another.
void Correlator::refresh_context(TrackedProcess& tracked, std::uint32_t context_id, bool ends) {
  const std::shared_ptr<Scope> scope = tracked.place.scope;
  processes_.relabel(tracked, context_id);
  if (ends) resolver_.read_again(tracked.place, *tracked.process);
  auto context = resolver_.context_of(tracked.place, *tracked.process);
  if (context == tracked.process->context) return;
  const Process& process = *tracked.process;
  if (tracked.announced && scope != tracked.place.scope) {
    relabeled_.push_back(change_of(process.context, context));
    relabeled_.back().pid = process.pid;
    relabeled_.back().start_ns = process.start_ns;
  }
  auto changed = std::make_shared<Process>(process);
  changed->context = std::move(context);
  tracked.process = std::move(changed);
  note_owner(tracked);
}

/// Of root's processes: for which user they work.
void Correlator::note_owner(TrackedProcess& tracked) {
  if (!proven_owners_ || tracked.owner_noted || tracked.process->uid != 0u) return;
  const auto owner = resolver_.proven_owner(tracked.place, *tracked.process, proven_owners_->mount_namespace());
  if (!owner) return;
  tracked.owner_noted = true;
  proven_owners_->note(*tracked.process, tracked.program_start_ns, *owner);
}

/// Takes it out of the runs and tasks that it is in.
void Correlator::leave_scopes(TrackedProcess& tracked, std::uint64_t time_ns, std::vector<Event>& events) {
  if (tracked.entered) add_changes(time_ns, events);
  for (const auto& join : joins_) join->forget(tracked.process->pid, tracked.process->start_ns);
  facts_.forget(tracked.entered, *tracked.process, time_ns, events);
}

/// Finds the process of a record, with the context that it has now, or makes it from what the record says.
TrackedProcess& Correlator::process_of(const RecordIdentity& identity, std::optional<std::uint64_t> attached_ns,
                                       std::vector<Event>& events) {
  if (TrackedProcess* const known = processes_.find(identity.pid, identity.start_ns)) {
    refresh_context(*known, identity.context_id);
    return *known;
  }
  return add_process(identity, attached_ns, events);
}

TrackedProcess& Correlator::add_process(const RecordIdentity& identity, std::optional<std::uint64_t> attached_ns,
                                        std::vector<Event>& events) {
  if (processes_.full()) {
    for (auto& [pid, tracked] : processes_.all()) leave_scopes(tracked, identity.time_ns, events);
    processes_.forget_all();
  } else if (TrackedProcess* const other = processes_.find(identity.pid)) {
    leave_scopes(*other, identity.time_ns, events);
  }
  return processes_.add(identity, attached_ns);
}

void Correlator::take_over(const std::vector<LeftProcess>& left, std::vector<Event>& events) {
  for (const LeftProcess& each : left) {
    const Process& process = *each.process;
    RecordIdentity identity;
    identity.time_ns = identity.start_ns = process.start_ns;
    identity.pid = process.pid;
    identity.parent_pid = process.parent_pid.value_or(0);
    identity.parent_start_ns = process.parent_start_ns.value_or(0);
    identity.uid = process.uid;
    identity.context_id = each.context_id;
    identity.cgroup_id = process.cgroup->id.value_or(0);
    identity.hierarchy = hierarchy_of(*process.cgroup);
    identity.pid_namespace = process.pid_namespace;
    identity.mount_namespace = process.mount_namespace;
    const Program& program = *process.program;
    identity.comm = program.comm.value_or("");
    if (process.cgroup->path) cgroups_.set(identity.hierarchy, identity.cgroup_id, *process.cgroup->path);
    TextRecord text;
    text.pid = process.pid;
    text.start_ns = process.start_ns;
    text.text.exe = program.exe;
    text.text.cwd = program.cwd;
    text.text.argv = program.argv;
    text.text.argv_cut_bytes = program.argv_cut_bytes;
    text.text.euid = program.exec_euid;
    processes_.keep_text(text);
    TrackedProcess& tracked = process_of(identity, each.attached_ns, events);
    taken_in_again(tracked);
    tracked.program_start_ns = each.program_start_ns;
    if (tracked.selection == Selection::kSelected) announce(tracked, events);
  }
  // What ended in a task before this is in no sum any more.
  for (auto& [pid, tracked] : processes_.all()) facts_.doubt(tracked.entered);
}

/// The kernel side that takes it in now knows nothing of the exec that began its program.
void Correlator::taken_in_again(TrackedProcess& tracked) {
  tracked.program_start_ns = tracked.process->start_ns;
  tracked.base_known = tracked.ledger_known = false;
}

void Correlator::add_command(std::uint32_t pid, TrackAs as) {
  if (as.command) resolver_.add_command(pid);
  TrackedProcess* const tracked = processes_.find(pid);
  // It has executed nothing yet.
  if (as.held && tracked != nullptr && tracked->base_known && tracked->runs_program(tracked->process->start_ns))
    tracked->held = true;
}

void Correlator::announce(TrackedProcess& tracked, std::vector<Event>& events) {
  if (tracked.announced || tracked.held) return;
  tracked.announced = true;
  facts_.saw(tracked.process);
  add_changes(tracked.started_ns, events);
  facts_.move(tracked.entered, tracked.place, *tracked.process, tracked.begin_ns, tracked.started_ns, events);
  events.emplace_back(ProcessStart{tracked.started_ns, tracked.process, tracked.attached_ns});
  for (const auto& join : joins_) join->at_start(tracked.started_ns, tracked.process, events);
}

void Correlator::on(const StartRecord& record, std::vector<Event>& events) {
  if (record.excluded) {
    TrackedProcess* const known = processes_.find(record.identity.pid, record.identity.start_ns);
    if (!known) return;
    leave_scopes(*known, record.identity.time_ns, events);
    processes_.erase(record.identity.pid);
    return;
  }
  TrackedProcess& tracked = process_of(record.identity, record.attached_ns, events);
  if (record.again || (record.attached_ns && !tracked.base_known)) return taken_in_again(tracked);
  tracked.started_ns = record.identity.time_ns;
  if (tracked.selection == Selection::kSelected && !processes_.filter().may_exclude_late()) announce(tracked, events);
}

void Correlator::on(const ExecRecord& record, std::vector<Event>& events) {
  TrackedProcess& tracked = process_of(record.identity, std::nullopt, events);
  attach_before(tracked, record.identity.time_ns);
  const std::shared_ptr<const Process> before = tracked.process;
  auto process = std::make_shared<Process>(*before);
  processes_.fill(*process, record.identity);
  process->program = processes_.program_of(tracked, record.text, record.identity.comm);
  processes_.decide(tracked, *process);
  const bool ended_own = tracked.place.own;
  tracked.place.folder = record.text.folder;
  if (tracked.place.folder) tracked.place.folder->mount_namespace = process->mount_namespace.value_or(0);
  resolver_.executes(tracked.place, process);
  process->context = resolver_.context_of(tracked.place, *process);
  add_changes(record.identity.time_ns, events);

  ProcessExec event;
  event.time_ns = record.identity.time_ns;
  event.process = process;
  event.attached_ns = tracked.attached_ns;
  event.cpus_allowed = record.cpus_allowed;
  event.ended.engine_own = ended_own;
  const bool was_held = tracked.begins(record);
  if (was_held) event.attached_ns = tracked.attached_ns;
  if (!was_held) {
    event.ended.start_ns = record.ended_start_ns;
    event.ended.end_ns = record.identity.time_ns;
  }
  if (!was_held && runs_program(tracked, record.ended_start_ns)) {
    event.ended.program = before->program;
    if (!tracked.threads_pending && tracked.base_known)
      event.ended.account = ended_account(record, tracked.program_base);
    if (!tracked.base_cpu_known) forget_cpu(event.ended.account);
    bound_peak(event.ended.account, tracked.peak_in_doubt, tracked.seen_bytes, tracked.has_huge_pages);
    forget_unseen(event.ended.account);
  }
  tracked.peak_in_doubt = tracked.has_huge_pages = false;
  tracked.seen_bytes.reset();
  if (tracked.selection == Selection::kSelected && !tracked.announced) {
    auto labeled = std::make_shared<Process>(was_held ? *process : *before);
    labeled->context = process->context;
    tracked.process = std::move(labeled);
    announce(tracked, events);
  }
  tracked.process = std::move(process);
  tracked.program_start_ns = record.identity.time_ns;
  note_owner(tracked);
  tracked.program_base = {sum_of(record.total, record.in_doubt), record.waits, record.process_waits,
                          record.missed_children_cpu_ns};
  tracked.base_known = true;
  tracked.base_cpu_known = !record.flags.cpu_stale;
  tracked.begin_in_doubt = record.flags.polled;
  tracked.threads_pending = record.flags.threads_pending;
  if (tracked.selection != Selection::kSelected) return leave_scopes(tracked, event.time_ns, events);
  for (const auto& join : joins_) join->at_exec(record, was_held ? nullptr : before, event, events);
  facts_.saw(tracked.process);
  if (!was_held) facts_.executed(tracked.entered, *tracked.process, event.ended);
  facts_.move(tracked.entered, tracked.place, *tracked.process, tracked.begin_ns, event.time_ns, events);
  events.emplace_back(std::move(event));
}

/// What became known of runs and tasks whose start was reported.
void Correlator::add_changes(std::uint64_t time_ns, std::vector<Event>& events) {
  if (!resolver_.has_news() && relabeled_.empty()) return;
  if (const auto moves = resolver_.take_moves(); !moves.empty()) facts_.absorb(moves, time_ns, events);
  const auto add = [&](std::vector<ContextChange> changes) {
    for (ContextChange& change : changes) {
      change.time_ns = time_ns;
      events.emplace_back(std::move(change));
    }
  };
  add(resolver_.take_changes());
  add(std::exchange(relabeled_, {}));
}

void Correlator::on(const ExitRecord& record, std::vector<Event>& events) {
  samples_.drop(record.identity.pid);
  TrackedProcess* const known = processes_.find(record.identity.pid, record.identity.start_ns);
  TrackedProcess& tracked = known ? *known : add_process(record.identity, record.attached_ns, events);
  attach_before(tracked, record.identity.time_ns);
  // It has ended without a command.
  if (std::exchange(tracked.held, false)) tracked.started_ns = record.attached_ns.value_or(tracked.started_ns);
  refresh_context(tracked, record.identity.context_id, true);
  add_changes(record.identity.time_ns, events);
  std::shared_ptr<const Process> process = tracked.process;
  const bool same = runs_program(tracked, record.program_start_ns);
  if (!same || !in_cgroup(*process->cgroup, record.identity.hierarchy, record.identity.cgroup_id)) {
    auto changed = std::make_shared<Process>(*process);
    processes_.fill(*changed, record.identity);
    if (!same) changed->program = programs_.program_of({}, record.identity.comm);
    process = std::move(changed);
  }
  if (tracked.selection == Selection::kSelected) {
    announce(tracked, events);
    ProcessExit event;
    event.time_ns = record.identity.time_ns;
    event.attached_ns = tracked.attached_ns;
    event.start_ns = record.identity.start_ns;
    event.begin_ns = tracked.begin_ns;
    event.end_ns = record.identity.time_ns;
    event.exit_code = record.exit_code;
    event.exit_signal = record.exit_signal;
    if (record.exit_signal_sender)
      event.exit_signal_sender = *record.exit_signal_sender == SignalSender::kKernel ? "kernel" : "process";
    event.exit_signal_sender_pid = record.exit_signal_sender_pid;
    event.broken_pipe_ns = record.broken_pipe_ns;
    event.core_dumped = record.core_dumped;
    event.status_is_answer = record.exit_code && process->program->tool &&
                             rules_.tools->is_answer(*process->program->tool, *record.exit_code);
    event.threads = record.threads;
    event.account =
        process_account(record, tracked.not_its_own, tracked.calls_before_exec(record.read_before_exec_bytes));
    event.program.start_ns = record.program_start_ns;
    event.program.end_ns = record.identity.time_ns;
    event.program.program = process->program;
    event.program.engine_own = process->context->engine_own;
    if (same && tracked.base_known) event.program.account = last_program_account(record, tracked.program_base);
    if (!tracked.base_cpu_known) forget_cpu(event.program.account);
    if (tracked.begin_in_doubt) {
      make_lower_bound(event.program.account);
      if (tracked.not_its_own.total != RawAccount()) make_lower_bound(event.account);
    }
    bound_peak(event.account, tracked.peak_in_doubt, tracked.seen_bytes, tracked.has_huge_pages);
    bound_peak(event.program.account, tracked.peak_in_doubt, tracked.seen_bytes, tracked.has_huge_pages);
    forget_unseen(event.account, tracked.ledger_known);
    forget_unseen(event.program.account);
    event.process = std::move(process);
    for (const auto& join : joins_) join->at_exit(record, event, events);
    facts_.move(tracked.entered, tracked.place, *event.process, tracked.begin_ns, event.time_ns, events);
    // A handle of its own, as what follows may move the events.
    const Event exit = events.emplace_back(std::move(event));
    host_.ended(*exit.get_if<ProcessExit>(), tracked.entered.get());
    facts_.leave(tracked.entered, tracked.place, *exit.get_if<ProcessExit>(), events);
    devices_.ended(record, exit.get_if<ProcessExit>()->process);
  } else {
    leave_scopes(tracked, record.identity.time_ns, events);
    devices_.ended(record, nullptr);
  }
  resolver_.ended(tracked.place, *tracked.process, record.exit_code, record.exit_signal);
  processes_.erase(record.identity.pid);
}

void Correlator::on(const CgroupRecord& record, std::vector<Event>&) {
  cgroups_.set(record.hierarchy, record.cgroup_id, record.path);
}

void Correlator::on(const ThreadRecord& record, std::vector<Event>& events) {
  TrackedProcess& tracked = process_of(record.identity, record.attached_ns, events);
  if (record.newly_adopted && (record.again || !tracked.base_known)) taken_in_again(tracked);
  processes_.move_cgroup(tracked, record.identity);
  if (record.newly_adopted && tracked.selection == Selection::kSelected) announce(tracked, events);
  if (tracked.selection != Selection::kSelected || tracked.held) return;
  tracked.has_huge_pages = tracked.has_huge_pages || (record.memory && record.memory->huge_pages != 0);
  samples_.add(record, tracked.process, tracked.attached_ns, tracked.not_its_own,
               tracked.calls_before_exec(record.read_before_exec_bytes));
}

void Correlator::on(const FileRecord& record, std::vector<Event>&) { samples_.add(record); }

void Correlator::on(const CgroupMemoryRecord& record, std::vector<Event>&) { cgroup_memory_.push_back(record); }

void Correlator::on(const TextRecord& record, std::vector<Event>&) { processes_.keep_text(record); }

namespace {

/// What its labels and cgroup were is said by other records: these may be late.
template <class SumsRecord>
void add_to_joins(const std::vector<std::unique_ptr<FamilyJoin>>& joins, ProcessTable& processes,
                  const SumsRecord& record) {
  const TrackedProcess* const tracked = processes.find(record.identity.pid, record.identity.start_ns);
  if (!tracked || tracked->selection != Selection::kSelected || tracked->held) return;
  for (const auto& join : joins) join->add(record, *tracked->process);
}

}  // namespace

void Correlator::on(const FileUseRecord& record, std::vector<Event>&) { add_to_joins(joins_, processes_, record); }

void Correlator::on(const ConnectionRecord& record, std::vector<Event>&) { add_to_joins(joins_, processes_, record); }

void Correlator::on(const SyscallUseRecord& record, std::vector<Event>&) { add_to_joins(joins_, processes_, record); }

void Correlator::on(const DiskWaitsRecord& record, std::vector<Event>&) { add_to_joins(joins_, processes_, record); }

void Correlator::on(const CgroupEndRecord& record, std::vector<Event>& events) {
  for (const auto& join : joins_) join->add(record, events);
}

void Correlator::on(const DeviceRecord& record, std::vector<Event>&) { devices_.add(record, processes_); }

/// Nothing comes of what has ended since it was read, or has a number that is another's by now.
void Correlator::on(const GpuRecord& record, std::vector<Event>& events) {
  const TrackedProcess* const tracked = processes_.find(record.pid, record.start_ns);
  if (!tracked || !tracked->announced || tracked->selection != Selection::kSelected) return;
  GpuSample sample = record.sample;
  sample.process = tracked->process;
  events.emplace_back(std::move(sample));
}

void Correlator::on(const HostRecord& record, std::vector<Event>&) { host_.add(record); }

void Correlator::on(const EventRecord& record, std::vector<Event>& events) {
  if (record.only_of_known) {
    const TrackedProcess* const known = processes_.find(record.identity.pid, record.identity.start_ns);
    if (known && known->announced && known->selection == Selection::kSelected)
      events.push_back(record.event->about(known->process));
    return;
  }
  TrackedProcess& tracked = process_of(record.identity, std::nullopt, events);
  if (tracked.selection != Selection::kSelected) return;
  announce(tracked, events);
  add_changes(record.identity.time_ns, events);
  events.push_back(record.event->about(tracked.process));
}

}  // namespace tracer::internal
