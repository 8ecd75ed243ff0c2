// SPDX-License-Identifier: Apache-2.0
#include "correlate/process_table.hpp"

#include <algorithm>
#include <utility>

#include "base/held_commands.hpp"
#include "context/pool_name.hpp"
#include "state/held_memory.hpp"

namespace tracer::internal {

void TrackedProcess::note_memory(const ProcessSample& sample) {
  if (!sample.rss_anonymous_bytes || sample.process->program != process->program) return;
  HeldMemory memory;
  memory.add(sample);
  const std::uint64_t bytes = memory.bytes().value_or(0);
  if (bytes != 0) seen_bytes = std::max(seen_bytes.value_or(0), bytes);
  const std::uint64_t mapped_bytes = sample.rss_file_bytes.value_or(0) + sample.rss_shared_bytes.value_or(0);
  constexpr std::uint64_t kFewSharedBytes = 4u << 20;
  constexpr std::uint64_t kFewMappedBytes = 64u << 20;
  if (sample.rss_shared_bytes.value_or(0) >= kFewSharedBytes ||
      (mapped_bytes >= kFewMappedBytes && sample.pss_bytes &&
       *sample.pss_bytes + kFewMappedBytes / 4 < *sample.rss_anonymous_bytes + mapped_bytes))
    peak_in_doubt = true;
}

std::optional<std::uint64_t> TrackedProcess::calls_before_exec(std::uint64_t read_before_exec_bytes) const noexcept {
  // As many bytes: the kernel speaks of the same exec.
  if (!base_known || threads_pending || program_base.total.read_bytes != read_before_exec_bytes) return std::nullopt;
  return program_base.total.read_calls - std::min(program_base.total.read_calls, not_its_own.total.read_calls);
}

bool TrackedProcess::begins(const ExecRecord& record) {
  if (!std::exchange(held, false)) return false;
  not_its_own = {sum_of(record.total, record.in_doubt), record.waits, record.process_waits,
                 record.missed_children_cpu_ns};
  attached_ns = started_ns = begin_ns = record.identity.time_ns;
  return true;
}

ProcessTable::ProcessTable(ProgramTable& programs, ContextResolver& resolver, CgroupTable& cgroups,
                           FilterEvaluator filter, FindContext find_context, std::size_t capacity)
    : programs_(programs),
      resolver_(resolver),
      cgroups_(cgroups),
      filter_(std::move(filter)),
      find_context_(std::move(find_context)),
      capacity_(capacity) {}

void ProcessTable::set_context(std::uint32_t id, std::shared_ptr<const Context> context) {
  if (id == 0) return;
  if (contexts_.size() <= id) contexts_.resize(id + 1);
  contexts_[id] = std::move(context);
}

TrackedProcess* ProcessTable::find(std::uint32_t pid) {
  const auto found = processes_.find(pid);
  return found == processes_.end() ? nullptr : &found->second;
}

TrackedProcess* ProcessTable::find(std::uint32_t pid, std::uint64_t start_ns) {
  TrackedProcess* const found = find(pid);
  return found && found->process->start_ns == start_ns ? found : nullptr;
}

/// A child begins as a copy of its parent; what lived before brings words of its own along.
TrackedProcess& ProcessTable::add(const RecordIdentity& identity, std::optional<std::uint64_t> attached_ns) {
  TrackedProcess tracked;
  tracked.selection = filter_.initial();
  tracked.context_id = identity.context_id;
  auto process = std::make_shared<Process>();
  auto labels = labels_of(identity.context_id);
  if (TrackedProcess* const parent = find(identity.parent_pid, identity.parent_start_ns)) {
    const Process& above = *parent->process;
    tracked.selection = parent->selection;
    tracked.place = resolver_.child_of(parent->place, parent->process);
    if (parent->context_id == identity.context_id) labels = nullptr;  // Said of the parent, perhaps better.
    process->pid_namespace = above.pid_namespace;
    process->mount_namespace = above.mount_namespace;
    if (attached_ns) {
      tracked.place.folder.reset();
    } else {
      process->program = above.program;
    }
  }
  fill(*process, identity);
  if (labels) resolver_.label(tracked.place, labels, *process);
  name_what_lives(tracked, process, identity);
  decide(tracked, *process);
  process->context = resolver_.context_of(tracked.place, *process);
  tracked.attached_ns = attached_ns;
  tracked.program_start_ns = identity.start_ns;
  tracked.started_ns = attached_ns.value_or(identity.start_ns);
  tracked.begin_ns = identity.start_ns;
  tracked.held = attached_ns && is_held_command(static_cast<pid_t>(identity.pid));
  tracked.process = std::move(process);
  return processes_.insert_or_assign(identity.pid, std::move(tracked)).first->second;
}

/// By the words that were sent ahead of it, else by its comm.
void ProcessTable::name_what_lives(TrackedProcess& tracked, const std::shared_ptr<Process>& process,
                                   const RecordIdentity& identity) {
  const auto text = texts_.find(identity.pid);
  if (text == texts_.end()) {
    if (!identity.comm.empty() && !process->program->comm) process->program = programs_.program_of({}, identity.comm);
    return;
  }
  if (text->second.start_ns == identity.start_ns) {
    if (text->second.cgroup && !process->cgroup->path)
      process->cgroup = cgroups_.set(identity.hierarchy, identity.cgroup_id, std::move(*text->second.cgroup));
    process->program = program_of(tracked, text->second.text, identity.comm);
    const bool is_copy = text->second.copy && tracked.place.above;
    resolver_.executes(tracked.place, process,
                       is_copy ? ContextResolver::Runs::kCopy : ContextResolver::Runs::kTakenIn);
  }
  texts_.erase(text);
}

void ProcessTable::forget_all() {
  forgotten_.add(processes_.size());
  processes_.clear();
}

void ProcessTable::keep_text(const TextRecord& record) {
  if (texts_.size() >= capacity_) {
    forgotten_.add(texts_.size());
    texts_.clear();
  }
  texts_.insert_or_assign(record.pid, record);
}

void ProcessTable::fill(Process& process, const RecordIdentity& identity) {
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

std::shared_ptr<const Program> ProcessTable::program_of(const TrackedProcess& tracked, const ProgramText& text,
                                                        const std::string& comm) {
  return named_by_pool(programs_.tools(), tracked.place, programs_.program_of(text, comm));
}

void ProcessTable::decide(TrackedProcess& tracked, Process& process) {
  const FilterEvaluator::Decision decision = filter_.decide(tracked.selection, process);
  tracked.selection = decision.selection;
  if (decision.labels) resolver_.label(tracked.place, decision.labels, process);
}

void ProcessTable::relabel(TrackedProcess& tracked, std::uint32_t context_id) {
  if (tracked.context_id == context_id) return;
  tracked.context_id = context_id;
  if (const auto labels = labels_of(context_id)) resolver_.label(tracked.place, labels, *tracked.process);
}

void ProcessTable::move_cgroup(TrackedProcess& tracked, const RecordIdentity& identity) {
  if (in_cgroup(*tracked.process->cgroup, identity.hierarchy, identity.cgroup_id)) return;
  auto moved = std::make_shared<Process>(*tracked.process);
  moved->cgroup = cgroups_.part(identity.hierarchy, identity.cgroup_id);
  tracked.process = std::move(moved);
}

std::shared_ptr<const Context> ProcessTable::labels_of(std::uint32_t context_id) {
  if (context_id == 0) return nullptr;
  const bool known = context_id < contexts_.size() && contexts_[context_id];
  if (!known && find_context_)
    if (auto found = find_context_(context_id)) set_context(context_id, std::move(found));
  return context_id < contexts_.size() ? contexts_[context_id] : nullptr;
}

}  // namespace tracer::internal
