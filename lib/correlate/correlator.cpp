// SPDX-License-Identifier: Apache-2.0
#include "correlate/correlator.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/held_commands.hpp"
#include "context/held_memory.hpp"
#include "context/layers.hpp"
#include "context/pool_name.hpp"
#include "correlate/cgroup_samples.hpp"
#include "correlate/folding.hpp"

namespace tracer::internal {

Correlator::Correlator(Rules rules, FilterEvaluator filter, std::size_t max_processes, SampleTable::ReadPss read_pss,
                       CgroupTable::FindPath find_path)
    : rules_(std::move(rules)),
      filter_(std::move(filter)),
      max_processes_(max_processes),
      resolver_(rules_.engines, rules_.ask_notes, rules_.most_announcements, rules_.key_origin),
      facts_(resolver_, open_labels_),
      cgroups_(std::move(find_path)),
      samples_(std::move(read_pss)),
      joins_(family_joins()) {
  resolver_.set_command(rules_.command_pid);
}

void Correlator::set_context(std::uint32_t id, std::shared_ptr<const Context> context) {
  if (id == 0) return;
  if (contexts_.size() <= id) contexts_.resize(id + 1);
  contexts_[id] = std::move(context);
}

void Correlator::on_record(const Record& record, std::vector<Event>& events) {
  std::visit([&](const auto& r) { on(r, events); }, record);
}

void Correlator::stop(Family family) {
  std::erase_if(joins_, [family](const auto& join) { return join->family() == family; });
  if (family == Family::kWaits) ledgers_ = false;
}

/// What no ledger can be made of any more.
void Correlator::forget_unseen(Account& account) const noexcept {
  if (ledgers_) return;
  account.ledger.reset();
  account.process_ledger.reset();
}

std::vector<ProcessSample> Correlator::take_samples() {
  std::vector<ProcessSample> samples = samples_.take();
  for (ProcessSample& sample : samples) forget_unseen(sample.account);
  return samples;
}

void Correlator::label_ended(const std::shared_ptr<const Context>& labels, std::uint64_t time_ns,
                             std::vector<Event>& events) {
  finish_over(open_labels_.close(labels), time_ns, events);
}

void Correlator::own_work(const std::shared_ptr<const Context>& labels, OwnWork work, std::vector<Event>& events) {
  const auto found = processes_.find(static_cast<std::uint32_t>(::getpid()));
  if (found == processes_.end() || found->second.selection != Selection::kSelected) return;
  Entry& entry = found->second;
  refresh_context(entry, entry.context_id);
  announce(entry, events);
  ContextPlace place = entry.place;
  auto process = std::make_shared<Process>(*entry.process);
  if (labels) {
    resolver_.label(place, labels, *process, false);
    process->context = resolver_.context_of(place, *process);
  }
  work.process = std::move(process);
  add_changes(work.time_ns, events);
  facts_.add_own_work(place.scope, entry.entered, work, events);
  events.emplace_back(std::move(work));
}

void Correlator::end_labels(std::uint64_t time_ns, std::vector<Event>& events) {
  finish_over(open_labels_.close_all(), time_ns, events);
}

void Correlator::finish_over(const OpenLabels::Scopes& scopes, std::uint64_t time_ns, std::vector<Event>& events) {
  if (scopes.empty()) return;
  add_changes(time_ns, events);
  for (const auto& scope : scopes) facts_.finish_if_over(*scope, time_ns, events);
}

std::vector<Event> Correlator::living() const {
  std::vector<const Entry*> entries;
  for (const auto& [pid, entry] : processes_)
    if (entry.announced) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(), [](const Entry* a, const Entry* b) {
    return std::pair(a->started_ns, a->process->pid) < std::pair(b->started_ns, b->process->pid);
  });
  std::vector<Event> events;
  std::set<const Scope*> told;
  for (const Entry* entry : entries) {
    facts_.add_starts(entry->entered, told, events);
    events.emplace_back(ProcessStart{entry->started_ns, entry->process, entry->attached_ns});
  }
  return events;
}

void Correlator::begin_snapshot() {
  samples_.clear();
  cgroup_memory_.clear();
}

void Correlator::end_snapshot(std::uint64_t time_ns, Folding folding, std::vector<Event>& events) {
  std::vector<ProcessSample> samples = take_samples();
  samples_.end_round();
  const SnapshotEnd end{time_ns, samples.size()};
  add_changes(time_ns, events);
  for (ProcessSample& sample : samples) {
    sample.time_ns = time_ns;
    const auto entry = processes_.find(sample.process->pid);
    if (entry == processes_.end()) continue;
    if (entry->second.announced)
      facts_.move(entry->second.entered, entry->second.place, *sample.process, entry->second.begin_ns, time_ns, events);
    facts_.add(entry->second.entered, sample);
    note_memory(entry->second, sample);
  }
  facts_.end_round();
  note_growth(samples);
  std::vector<CgroupSample> cgroups = cgroup_samples(cgroup_memory_, samples, cgroups_, filter_.selects_all());
  cgroup_memory_.clear();
  events.reserve(events.size() + samples.size() + cgroups.size() + 1);
  if (folding == Folding::kOfMany) {
    fold(std::move(samples), static_cast<std::uint32_t>(::getpid()), events);
  } else {
    std::move(samples.begin(), samples.end(), std::back_inserter(events));
  }
  std::move(cgroups.begin(), cgroups.end(), std::back_inserter(events));
  events.emplace_back(end);
}

/// Of its program, as far as it can be said of one process.
void Correlator::note_memory(Entry& entry, const ProcessSample& sample) {
  if (!sample.rss_anonymous_bytes || sample.process->program != entry.process->program) return;
  HeldMemory held;
  held.add(sample);
  const std::uint64_t bytes = held.bytes().value_or(0);
  if (bytes != 0) entry.seen_bytes = std::max(entry.seen_bytes.value_or(0), bytes);
  const std::uint64_t mapped_bytes = sample.rss_file_bytes.value_or(0) + sample.rss_shared_bytes.value_or(0);
  constexpr std::uint64_t kFewSharedBytes = 4u << 20;
  constexpr std::uint64_t kFewMappedBytes = 64u << 20;
  if (sample.rss_shared_bytes.value_or(0) >= kFewSharedBytes ||
      (mapped_bytes >= kFewMappedBytes && sample.pss_bytes &&
       *sample.pss_bytes + kFewMappedBytes / 4 < *sample.rss_anonymous_bytes + mapped_bytes))
    entry.peak_in_doubt = true;
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

void Correlator::fill(Process& process, const RecordIdentity& identity) {
  process.pid = identity.pid;
  process.start_ns = identity.start_ns;
  if (identity.parent_pid != 0) {
    process.parent_pid = identity.parent_pid;
    process.parent_start_ns = identity.parent_start_ns;
  }
  if (identity.uid) process.uid = identity.uid;
  process.cgroup = cgroups_.part(identity.hierarchy, identity.cgroup_id);
  if (identity.pid_namespace) process.pid_namespace = identity.pid_namespace;
  if (identity.mount_namespace) process.mount_namespace = identity.mount_namespace;
}

std::shared_ptr<const Program> Correlator::program_of(const ProgramText& text, const std::string& comm) {
  if (auto known = programs_.find(text, comm)) return known;
  auto program = std::make_shared<Program>();
  if (!comm.empty()) program->comm = comm;
  program->exe = text.exe;
  program->argv = text.argv;
  program->argv_cut_bytes = text.argv_cut_bytes;
  program->cwd = text.cwd;
  const std::uint64_t masked = program->argv && rules_.mask_secrets ? rules_.secrets->mask(*program->argv) : 0;
  if (program->exe || program->argv)
    program->tool =
        rules_.tools->name(program->exe.value_or(""), program->argv ? *program->argv : std::vector<std::string>{},
                           program->comm.value_or(""));
  if (masked != 0) {
    secrets_masked_.add(masked);
  } else {
    programs_.add(program);
  }
  return program;
}

std::shared_ptr<const Context> Correlator::labels_of(std::uint32_t context_id) {
  if (context_id == 0) return nullptr;
  const bool known = context_id < contexts_.size() && contexts_[context_id];
  if (!known && rules_.find_context)
    if (auto found = rules_.find_context(context_id)) set_context(context_id, std::move(found));
  return context_id < contexts_.size() ? contexts_[context_id] : nullptr;
}

/// The kernel follows it under other labels than before.
void Correlator::relabel(Entry& entry, std::uint32_t context_id) {
  if (entry.context_id == context_id) return;
  entry.context_id = context_id;
  if (const auto labels = labels_of(context_id)) resolver_.label(entry.place, labels, *entry.process);
}

/// More may be known by now of the run or task that it is in, or it is in another.
void Correlator::refresh_context(Entry& entry, std::uint32_t context_id) {
  const std::shared_ptr<Scope> scope = entry.place.scope;
  relabel(entry, context_id);
  auto context = resolver_.context_of(entry.place, *entry.process);
  if (context == entry.process->context) return;
  const Process& process = *entry.process;
  if (entry.announced && scope != entry.place.scope) {
    relabeled_.push_back(change_of(process.context, context));
    relabeled_.back().pid = process.pid;
    relabeled_.back().start_ns = process.start_ns;
  }
  auto changed = std::make_shared<Process>(process);
  changed->context = std::move(context);
  entry.process = std::move(changed);
}

/// Takes it out of the runs and tasks that it is in.
void Correlator::leave_scopes(Entry& entry, std::uint64_t time_ns, std::vector<Event>& events) {
  if (entry.entered) add_changes(time_ns, events);
  facts_.forget(entry.entered, *entry.process, time_ns, events);
}

/// Finds the process of a record, or makes it from what the record says.
Correlator::Entry& Correlator::entry_of(const RecordIdentity& identity, std::optional<std::uint64_t> attached_ns,
                                        std::vector<Event>& events) {
  const auto found = processes_.find(identity.pid);
  if (found != processes_.end() && found->second.process->start_ns == identity.start_ns) {
    refresh_context(found->second, identity.context_id);
    return found->second;
  }
  if (processes_.size() >= max_processes_) {
    forgotten_.add(processes_.size());
    for (auto& [pid, entry] : processes_) leave_scopes(entry, identity.time_ns, events);
    processes_.clear();
  } else if (found != processes_.end()) {
    leave_scopes(found->second, identity.time_ns, events);
  }
  return processes_.insert_or_assign(identity.pid, made_from(identity, attached_ns)).first->second;
}

/// A child begins as a copy of its parent; what lived before brings words of its own along.
Correlator::Entry Correlator::made_from(const RecordIdentity& identity, std::optional<std::uint64_t> attached_ns) {
  Entry entry;
  entry.selection = filter_.initial();
  entry.context_id = identity.context_id;
  auto process = std::make_shared<Process>();
  auto labels = labels_of(identity.context_id);
  const auto parent = processes_.find(identity.parent_pid);
  if (parent != processes_.end() && parent->second.process->start_ns == identity.parent_start_ns) {
    const Process& above = *parent->second.process;
    entry.selection = parent->second.selection;
    entry.place = resolver_.child_of(parent->second.place, parent->second.process);
    if (parent->second.context_id == identity.context_id) labels = nullptr;  // Said of the parent, perhaps better.
    process->pid_namespace = above.pid_namespace;
    process->mount_namespace = above.mount_namespace;
    if (!attached_ns) process->program = above.program;
  }
  fill(*process, identity);
  if (labels) resolver_.label(entry.place, labels, *process);
  const auto text = texts_.find(identity.pid);
  if (text != texts_.end()) {
    if (text->second.start_ns == identity.start_ns) {
      if (text->second.cgroup && !process->cgroup->path)
        process->cgroup = cgroups_.set(identity.hierarchy, identity.cgroup_id, std::move(*text->second.cgroup));
      process->program = named_by_pool(*rules_.tools, entry.place, program_of(text->second.text, identity.comm));
      resolver_.executes(entry.place, process, false);
    }
    texts_.erase(text);
  } else if (!identity.comm.empty() && !process->program->comm) {
    process->program = program_of({}, identity.comm);
  }
  decide(entry, *process);
  process->context = resolver_.context_of(entry.place, *process);
  entry.attached_ns = attached_ns;
  entry.program_start_ns = identity.start_ns;
  entry.started_ns = attached_ns.value_or(identity.start_ns);
  entry.begin_ns = identity.start_ns;
  entry.held = attached_ns && is_held_command(static_cast<pid_t>(identity.pid));
  entry.process = std::move(process);
  return entry;
}

/// Decides the user space part of the filter; a rule that takes the process in may label it.
void Correlator::decide(Entry& entry, Process& process) {
  const FilterEvaluator::Decision decision = filter_.decide(entry.selection, process);
  entry.selection = decision.selection;
  if (decision.labels) resolver_.label(entry.place, decision.labels, process);
}

/// False: the exec that began this program was lost, and what is known is of an earlier one.
bool Correlator::same_program(const Entry& entry, std::uint64_t program_start_ns) {
  return entry.program_start_ns == program_start_ns;
}

void Correlator::announce(Entry& entry, std::vector<Event>& events) {
  if (entry.announced || entry.held) return;
  entry.announced = true;
  facts_.saw(entry.process);
  add_changes(entry.started_ns, events);
  facts_.move(entry.entered, entry.place, *entry.process, entry.begin_ns, entry.started_ns, events);
  events.emplace_back(ProcessStart{entry.started_ns, entry.process, entry.attached_ns});
}

void Correlator::on(const StartRecord& record, std::vector<Event>& events) {
  if (record.excluded) {
    const auto known = processes_.find(record.identity.pid);
    if (known == processes_.end() || known->second.process->start_ns != record.identity.start_ns) return;
    leave_scopes(known->second, record.identity.time_ns, events);
    processes_.erase(known);
    return;
  }
  Entry& entry = entry_of(record.identity, record.attached_ns, events);
  entry.started_ns = record.identity.time_ns;
  if (entry.selection == Selection::kSelected && !filter_.may_exclude_late()) announce(entry, events);
}

void Correlator::on(const ExecRecord& record, std::vector<Event>& events) {
  Entry& entry = entry_of(record.identity, std::nullopt, events);
  const std::shared_ptr<const Process> before = entry.process;
  auto process = std::make_shared<Process>(*before);
  fill(*process, record.identity);
  process->program = named_by_pool(*rules_.tools, entry.place, program_of(record.text, record.identity.comm));
  decide(entry, *process);
  const bool ended_own = entry.place.own;
  resolver_.executes(entry.place, process);
  process->context = resolver_.context_of(entry.place, *process);
  add_changes(record.identity.time_ns, events);

  ProcessExec event;
  event.time_ns = record.identity.time_ns;
  event.process = process;
  event.attached_ns = entry.attached_ns;
  event.ended.engine_own = ended_own;
  const bool was_held = begins(entry, record);
  if (was_held) event.attached_ns = entry.attached_ns;
  if (!was_held) {
    event.ended.start_ns = record.ended_start_ns;
    event.ended.end_ns = record.identity.time_ns;
  }
  if (!was_held && same_program(entry, record.ended_start_ns)) {
    event.ended.program = before->program;
    if (!entry.threads_pending) event.ended.account = ended_account(record, entry.program_base);
    if (!entry.base_cpu_known) forget_cpu(event.ended.account);
    bound_peak(event.ended.account, entry.peak_in_doubt, entry.seen_bytes);
    forget_unseen(event.ended.account);
  }
  entry.peak_in_doubt = false;
  entry.seen_bytes.reset();
  if (entry.selection == Selection::kSelected && !entry.announced) {
    auto labeled = std::make_shared<Process>(was_held ? *process : *before);
    labeled->context = process->context;
    entry.process = std::move(labeled);
    announce(entry, events);
  }
  entry.process = std::move(process);
  entry.program_start_ns = record.identity.time_ns;
  entry.program_base = {record.total, record.waits, record.process_waits};
  entry.base_cpu_known = !record.flags.cpu_stale;
  entry.threads_pending = record.flags.threads_pending;
  if (entry.selection != Selection::kSelected) return leave_scopes(entry, event.time_ns, events);
  facts_.saw(entry.process);
  if (!was_held) facts_.executed(entry.entered, *entry.process, event.ended);
  facts_.move(entry.entered, entry.place, *entry.process, entry.begin_ns, event.time_ns, events);
  events.emplace_back(std::move(event));
}

/// True: it was held until now, and what it did before is nobody's work.
bool Correlator::begins(Entry& entry, const ExecRecord& record) {
  if (!std::exchange(entry.held, false)) return false;
  entry.not_its_own = {record.total, record.waits, record.process_waits};
  entry.attached_ns = entry.started_ns = entry.begin_ns = record.identity.time_ns;
  return true;
}

/// What became known of runs and tasks whose start was reported.
void Correlator::add_changes(std::uint64_t time_ns, std::vector<Event>& events) {
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
  Entry& entry = entry_of(record.identity, record.attached_ns, events);
  // It has ended without a command.
  if (std::exchange(entry.held, false)) entry.started_ns = record.attached_ns.value_or(entry.started_ns);
  resolver_.read_again(entry.place, *entry.process);
  refresh_context(entry, entry.context_id);
  add_changes(record.identity.time_ns, events);
  std::shared_ptr<const Process> process = entry.process;
  const bool same = same_program(entry, record.program_start_ns);
  if (!same || !in_cgroup(*process->cgroup, record.identity.hierarchy, record.identity.cgroup_id)) {
    auto changed = std::make_shared<Process>(*process);
    fill(*changed, record.identity);
    if (!same) changed->program = program_of({}, record.identity.comm);
    process = std::move(changed);
  }
  if (entry.selection == Selection::kSelected) {
    announce(entry, events);
    ProcessExit event;
    event.time_ns = record.identity.time_ns;
    event.attached_ns = entry.attached_ns;
    event.start_ns = record.identity.start_ns;
    event.begin_ns = entry.begin_ns;
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
    event.account = process_account(record, entry.not_its_own);
    event.program.start_ns = record.program_start_ns;
    event.program.end_ns = record.identity.time_ns;
    event.program.program = process->program;
    event.program.engine_own = process->context->engine_own;
    if (same) event.program.account = last_program_account(record, entry.program_base);
    if (!entry.base_cpu_known) forget_cpu(event.program.account);
    bound_peak(event.account, entry.peak_in_doubt, entry.seen_bytes);
    bound_peak(event.program.account, entry.peak_in_doubt, entry.seen_bytes);
    forget_unseen(event.account);
    forget_unseen(event.program.account);
    for (const auto& join : joins_) join->at_exit(record, event);
    event.process = std::move(process);
    facts_.move(entry.entered, entry.place, *event.process, entry.begin_ns, event.time_ns, events);
    // A handle of its own, as what follows may move the events.
    const Event exit = events.emplace_back(std::move(event));
    facts_.leave(entry.entered, entry.place, *exit.get_if<ProcessExit>(), events);
  } else {
    leave_scopes(entry, record.identity.time_ns, events);
  }
  resolver_.ended(entry.place, *entry.process, record.exit_code, record.exit_signal);
  processes_.erase(record.identity.pid);
}

void Correlator::on(const CgroupRecord& record, std::vector<Event>&) {
  cgroups_.set(record.hierarchy, record.cgroup_id, record.path);
}

void Correlator::on(const ThreadRecord& record, std::vector<Event>& events) {
  Entry& entry = entry_of(record.identity, record.attached_ns, events);
  if (!in_cgroup(*entry.process->cgroup, record.identity.hierarchy, record.identity.cgroup_id)) {
    auto moved = std::make_shared<Process>(*entry.process);
    moved->cgroup = cgroups_.part(record.identity.hierarchy, record.identity.cgroup_id);
    entry.process = std::move(moved);
  }
  if (record.newly_adopted && entry.selection == Selection::kSelected) announce(entry, events);
  if (entry.selection != Selection::kSelected || entry.held) return;
  samples_.add(record, entry.process, entry.attached_ns, entry.not_its_own);
}

void Correlator::on(const FileRecord& record, std::vector<Event>&) { samples_.add(record); }

void Correlator::on(const CgroupMemoryRecord& record, std::vector<Event>&) { cgroup_memory_.push_back(record); }

void Correlator::on(const TextRecord& record, std::vector<Event>&) {
  if (texts_.size() >= max_processes_) {
    forgotten_.add(texts_.size());
    texts_.clear();
  }
  texts_.insert_or_assign(record.pid, record);
}

void Correlator::on(const EventRecord& record, std::vector<Event>& events) {
  Entry& entry = entry_of(record.identity, std::nullopt, events);
  if (entry.selection != Selection::kSelected) return;
  announce(entry, events);
  add_changes(record.identity.time_ns, events);
  events.push_back(record.event->about(entry.process));
}

}  // namespace tracer::internal
