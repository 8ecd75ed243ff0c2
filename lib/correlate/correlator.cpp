// SPDX-License-Identifier: Apache-2.0
#include "correlate/correlator.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "correlate/cgroup_samples.hpp"
#include "correlate/folding.hpp"
#include "correlate/account.hpp"

namespace tracer {

Correlator::Correlator(Rules rules, FilterEvaluator filter, std::size_t max_processes, Emit emit,
                       SampleTable::ReadPss read_pss)
    : rules_(std::move(rules)),
      filter_(std::move(filter)),
      max_processes_(max_processes),
      emit_(std::move(emit)),
      samples_(std::move(read_pss)) {}

void Correlator::set_context(std::uint32_t id, Context context) { contexts_.insert_or_assign(id, std::move(context)); }

void Correlator::on_record(Record record) {
  std::visit([this](auto& r) { on(std::move(r)); }, record);
  if (pending_.empty()) return;
  std::vector<Event> events = std::exchange(pending_, {});
  for (Event& event : events) emit_(std::move(event));
  events.clear();
  if (pending_.empty()) pending_ = std::move(events);  // For its room: this is done for each record.
}

std::vector<ProcessSample> Correlator::sample_now(const std::function<void()>& sample) {
  SampleTable aside = samples_.set_aside();
  auto cgroups_aside = std::exchange(cgroup_memory_, {});
  ++asking_;
  sample();
  std::vector<ProcessSample> samples = samples_.take();
  samples_.put_back(std::move(aside));
  for (const std::uint32_t pid : ended_meanwhile_) samples_.drop(pid);
  if (--asking_ == 0) ended_meanwhile_.clear();
  cgroup_memory_ = std::move(cgroups_aside);
  return samples;
}

std::vector<Event> Correlator::take_snapshot(std::uint64_t time_ns, Folding folding) {
  std::vector<ProcessSample> samples = samples_.take();
  samples_.end_round();
  for (ProcessSample& sample : samples) sample.time_ns = time_ns;
  std::vector<CgroupSample> cgroups = cgroup_samples(cgroup_memory_, samples, cgroups_, filter_.selects_all());
  cgroup_memory_.clear();
  std::vector<Event> events;
  if (folding == Folding::kOfMany) {
    events = fold(std::move(samples));
  } else {
    std::move(samples.begin(), samples.end(), std::back_inserter(events));
  }
  std::move(cgroups.begin(), cgroups.end(), std::back_inserter(events));
  return events;
}

void Correlator::fill(Process& process, const RecordIdentity& identity) const {
  process.pid = identity.pid;
  process.start_ns = identity.start_ns;
  if (identity.parent_pid != 0) {
    process.parent_pid = identity.parent_pid;
    process.parent_start_ns = identity.parent_start_ns;
  }
  if (identity.uid) process.uid = identity.uid;
  if (!identity.comm.empty()) process.comm = identity.comm;
  set_cgroup(process, identity);
  if (identity.pid_namespace) process.pid_namespace = identity.pid_namespace;
  if (identity.mount_namespace) process.mount_namespace = identity.mount_namespace;
}

bool Correlator::moved(const Process& process, const RecordIdentity& identity) {
  return process.cgroup_id != identity.cgroup_id || process.cgroup_hierarchy != hierarchy_name(identity.hierarchy);
}

void Correlator::set_cgroup(Process& process, const RecordIdentity& identity) const {
  if (moved(process, identity)) {
    process.cgroup.reset();
    process.container_id.reset();
  }
  process.cgroup_id = identity.cgroup_id;
  process.cgroup_hierarchy = hierarchy_name(identity.hierarchy);
  const std::string* path = cgroups_.find(identity.hierarchy, identity.cgroup_id);
  if (path == nullptr) return;
  process.cgroup = *path;
  process.container_id = container_id_of(*path);
}

/// A copy with what the record says.
std::shared_ptr<Process> Correlator::updated(const Process& process, const RecordIdentity& identity) const {
  auto changed = std::make_shared<Process>(process);
  fill(*changed, identity);
  return changed;
}

void Correlator::set_text(Process& process, ProgramText text) {
  if (text.argv && rules_.mask_secrets) secrets_masked_ += rules_.secrets.mask(*text.argv);
  process.exe = std::move(text.exe);
  process.cwd = std::move(text.cwd);
  process.argv = std::move(text.argv);
  process.argv_cut_bytes = text.argv_cut_bytes;
  process.tool.reset();
  if (process.exe || process.argv)
    process.tool = rules_.tools.name(
        process.exe.value_or(""), process.argv ? *process.argv : std::vector<std::string>{}, process.comm.value_or(""));
}

/// Finds the process of a record, or makes it from what the record says: a child begins as a copy of its parent.
Correlator::Entry& Correlator::entry_of(const RecordIdentity& identity, std::optional<std::uint64_t> attached_ns) {
  const auto found = processes_.find(identity.pid);
  if (found != processes_.end() && found->second.process->start_ns == identity.start_ns) return found->second;
  if (processes_.size() >= max_processes_) {
    forgotten_ += processes_.size();
    processes_.clear();
  }

  Entry entry;
  auto process = std::make_shared<Process>();
  entry.selection = filter_.initial();
  const auto parent = processes_.find(identity.parent_pid);
  if (parent != processes_.end() && parent->second.process->start_ns == identity.parent_start_ns) {
    const Process& above = *parent->second.process;
    entry.selection = parent->second.selection;
    process->context = above.context;
    process->comm = above.comm;
    process->pid_namespace = above.pid_namespace;
    process->mount_namespace = above.mount_namespace;
    if (!attached_ns) {
      process->exe = above.exe;
      process->argv = above.argv;
      process->argv_cut_bytes = above.argv_cut_bytes;
      process->cwd = above.cwd;
      process->tool = above.tool;
    }
  }
  const auto labels = contexts_.find(identity.context_id);
  if (labels != contexts_.end()) process->context = labels->second;
  fill(*process, identity);
  const auto text = texts_.find(identity.pid);
  if (text != texts_.end()) {
    if (text->second.start_ns == identity.start_ns) {
      if (text->second.cgroup && !process->cgroup) {
        process->cgroup = text->second.cgroup;
        process->container_id = container_id_of(*process->cgroup);
        cgroups_.set(identity.hierarchy, identity.cgroup_id, *process->cgroup);
      }
      set_text(*process, std::move(text->second.text));
    }
    texts_.erase(text);
  }
  entry.selection = filter_.decide(entry.selection, *process, process->context);
  entry.attached_ns = attached_ns;
  entry.program_start_ns = identity.start_ns;
  entry.started_ns = attached_ns.value_or(identity.start_ns);
  entry.process = std::move(process);
  return processes_.insert_or_assign(identity.pid, std::move(entry)).first->second;
}

/// False: the exec that began this program was lost, and what is known is of an earlier one.
bool Correlator::same_program(const Entry& entry, std::uint64_t program_start_ns) {
  return entry.program_start_ns == program_start_ns;
}

void Correlator::announce(Entry& entry) {
  if (entry.announced) return;
  entry.announced = true;
  pending_.emplace_back(ProcessStart{entry.started_ns, entry.process, entry.attached_ns});
}

void Correlator::on(StartRecord record) {
  if (record.excluded) {
    processes_.erase(record.identity.pid);
    return;
  }
  Entry& entry = entry_of(record.identity, record.attached_ns);
  entry.started_ns = record.identity.time_ns;
  if (entry.selection == Selection::kSelected && !filter_.may_exclude_late()) announce(entry);
}

void Correlator::on(ExecRecord record) {
  if (!ledgers_) record.waits = {};
  Entry& entry = entry_of(record.identity, std::nullopt);
  const std::shared_ptr<const Process> before = entry.process;
  const std::shared_ptr<Process> process = updated(*before, record.identity);
  set_text(*process, std::move(record.text));
  entry.selection = filter_.decide(entry.selection, *process, process->context);

  ProcessExec event;
  event.time_ns = record.identity.time_ns;
  event.process = process;
  event.attached_ns = entry.attached_ns;
  event.ended.start_ns = record.ended_start_ns;
  event.ended.end_ns = record.identity.time_ns;
  if (same_program(entry, record.ended_start_ns)) {
    event.ended.exe = before->exe;
    event.ended.tool = before->tool;
    if (!entry.threads_pending) event.ended.account = ended_account(record, entry.program_base);
    if (!entry.base_cpu_known) forget_cpu(event.ended.account);
  }
  if (entry.selection == Selection::kSelected && !entry.announced) {
    auto labeled = std::make_shared<Process>(*before);
    labeled->context = process->context;
    entry.process = std::move(labeled);
    announce(entry);
  }
  entry.process = process;
  entry.program_start_ns = record.identity.time_ns;
  entry.program_base = {record.total, record.waits};
  entry.base_cpu_known = (record.flags & TRACER_FLAG_CPU_STALE) == 0;
  entry.threads_pending = (record.flags & TRACER_FLAG_THREADS_PENDING) != 0;
  if (entry.selection == Selection::kSelected) pending_.emplace_back(std::move(event));
}

void Correlator::on(ExitRecord record) {
  if (!ledgers_) record.waits = {};
  samples_.drop(record.identity.pid);
  if (asking_ != 0) ended_meanwhile_.push_back(record.identity.pid);
  Entry& entry = entry_of(record.identity, record.attached_ns);
  std::shared_ptr<const Process> process = entry.process;
  const bool same = same_program(entry, record.program_start_ns);
  if (!same || moved(*process, record.identity)) {
    auto changed = updated(*process, record.identity);
    if (!same) set_text(*changed, {});
    process = std::move(changed);
  }
  if (entry.selection == Selection::kSelected) {
    announce(entry);
    ProcessExit event;
    event.time_ns = record.identity.time_ns;
    event.process = process;
    event.attached_ns = record.attached_ns;
    event.start_ns = record.identity.start_ns;
    event.end_ns = record.identity.time_ns;
    event.exit_code = record.exit_code;
    event.exit_signal = record.exit_signal;
    event.core_dumped = record.core_dumped;
    event.status_is_answer =
        record.exit_code && process->tool && rules_.tools.is_answer(*process->tool, *record.exit_code);
    event.threads = record.threads;
    event.account = process_account(record);
    event.program.start_ns = record.program_start_ns;
    event.program.end_ns = record.identity.time_ns;
    event.program.exe = process->exe;
    event.program.tool = process->tool;
    if (same) event.program.account = last_program_account(record, entry.program_base);
    if (!entry.base_cpu_known) forget_cpu(event.program.account);
    pending_.emplace_back(std::move(event));
  }
  processes_.erase(record.identity.pid);
}

void Correlator::on(CgroupRecord record) { cgroups_.set(record.hierarchy, record.cgroup_id, std::move(record.path)); }

void Correlator::on(ThreadRecord record) {
  if (!ledgers_) record.waits = {};
  Entry& entry = entry_of(record.identity, record.attached_ns);
  if (moved(*entry.process, record.identity)) {
    auto changed = std::make_shared<Process>(*entry.process);
    set_cgroup(*changed, record.identity);
    entry.process = std::move(changed);
  }
  if (record.newly_adopted && entry.selection == Selection::kSelected) announce(entry);
  if (entry.selection != Selection::kSelected) return;
  samples_.add(record, entry.process, entry.attached_ns);
}

void Correlator::on(FileRecord record) { samples_.add(std::move(record)); }

void Correlator::on(CgroupMemoryRecord record) { cgroup_memory_.push_back(record); }

void Correlator::on(TextRecord record) {
  const std::uint32_t pid = record.pid;
  if (texts_.size() >= max_processes_) texts_.clear();
  texts_.insert_or_assign(pid, std::move(record));
}

}  // namespace tracer
