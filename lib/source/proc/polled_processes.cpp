// SPDX-License-Identifier: Apache-2.0
#include "source/proc/polled_processes.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/ended_commands.hpp"
#include "source/proc/cgroup_files.hpp"
#include "source/proc/proc_text.hpp"

namespace tracer::internal {
namespace {

/// It is there only for its parent to wait for: threads that live would hold it in life.
bool has_ended(const ProcStat& stat) noexcept { return stat.state == 'X' || (stat.state == 'Z' && stat.threads <= 1); }

bool executed(const ProcStat& before, const ProcStat& now) noexcept {
  const bool left_copy = (before.flags & kForkedOnly) != 0 && (now.flags & kForkedOnly) == 0;
  return left_copy || (before.stack != 0 && now.stack != 0 && before.stack != now.stack);
}

std::optional<ThreadState> state_of(char state) noexcept {
  switch (state) {
    case 'R': return ThreadState::kRunning;
    case 'S': return ThreadState::kSleeping;
    case 'D': return ThreadState::kUninterruptible;
    case 'T':
    case 't': return ThreadState::kStopped;
    default: return std::nullopt;
  }
}

/// Of others it is hidden, and looks like a success.
bool shows_status(const ProcStat& stat, const std::optional<ProcStatus>& status) noexcept {
  return stat.wait_status != 0 || ::geteuid() == 0 ||
         (status && status->all_uid == ::geteuid() && status->all_gid == ::getegid());
}

/// No status is negative.
constexpr int kNoStatus = -1;

void set_status(ExitRecord& record, int wait_status) noexcept {
  if (wait_status == kNoStatus) return;
  constexpr int kSignal = 0x7f;
  constexpr int kCore = 0x80;
  if ((wait_status & kSignal) != 0) {
    record.exit_signal = wait_status & kSignal;
    record.core_dumped = (wait_status & kCore) != 0;
  } else {
    record.exit_code = (wait_status >> 8) & 0xff;
  }
}

}  // namespace

PolledProcesses::PolledProcesses(const ProcFiles& files, PollClock& clock, std::size_t most)
    : files_(files), clock_(clock), most_(most), since_ns_(boot_time_ns()) {}

PolledProcess* PolledProcesses::find(std::uint32_t pid, const ProcStat& stat) {
  const auto known = processes_.find(pid);
  if (known == processes_.end() || known->second.stat().started_from_ns != stat.started_from_ns) return nullptr;
  return &known->second;
}

bool PolledProcesses::is_gone(const PolledProcess& process) const {
  const auto stat = files_.stat(process.identity().pid);
  return stat ? stat->started_from_ns != process.stat().started_from_ns : files_.is_gone(process.identity().pid);
}

std::uint64_t PolledProcesses::cgroup_id(Hierarchy hierarchy, const std::string& path) {
  constexpr std::size_t kMostNames = 4096;
  if (cgroup_ids_.size() >= kMostNames) cgroup_ids_.clear();
  const auto [id, fresh] = cgroup_ids_.try_emplace({hierarchy, path}, 0);
  if (!fresh) return id->second;
  if (const auto folder = find_cgroup(path); folder && folder->hierarchy == hierarchy) id->second = folder->id;
  return id->second;
}

RecordIdentity PolledProcesses::identity_of(std::uint32_t pid, const ProcStat& stat, std::uint32_t context_id) {
  RecordIdentity identity;
  identity.time_ns = boot_time_ns();
  identity.pid = pid;
  identity.start_ns = stat.started_from_ns;
  identity.context_id = context_id;
  identity.comm = stat.comm;
  if (stat.parent_pid != 0) {
    identity.parent_pid = stat.parent_pid;
    if (const auto followed = processes_.find(stat.parent_pid); followed != processes_.end()) {
      identity.parent_start_ns = followed->second.identity().start_ns;
    } else if (const auto parent = files_.stat(stat.parent_pid)) {
      identity.parent_start_ns = parent->started_from_ns;
    }
  }
  if (const auto cgroup = files_.cgroup(pid)) {
    identity.hierarchy = cgroup->first;
    identity.cgroup_id = cgroup_id(cgroup->first, cgroup->second);
  }
  return identity;
}

bool PolledProcesses::adopt(std::uint32_t pid, const ProcStat& stat, std::uint32_t context_id, bool counted,
                            Feed& feed) {
  if ((stat.flags & kKernelThread) != 0 || has_ended(stat)) return false;
  if (processes_.contains(pid)) {
    end_all({pid}, feed);
    if (processes_.contains(pid)) return false;
  }
  if (processes_.size() >= most_) {
    refused_.add(1);
    return false;
  }
  const auto now = Clock::now();
  // What its parent has executed by now comes first.
  if (const auto parent = processes_.find(stat.parent_pid); parent != processes_.end() && !parent->second.told_end) {
    parent->second.has_children = true;
    see(parent->second, feed, now, false);
  }
  PolledProcess process(identity_of(pid, stat, context_id), stat, stat.started_from_ns < since_ns_);
  process.attached_ns = process.identity().time_ns;
  process.program_start_ns = process.identity().start_ns;
  process.look(files_, stat, now);
  exits_.add(pid);
  TextRecord text = proc_text(pid, process.identity().start_ns, process.identity().hierarchy, files_.root());
  // If it executes meanwhile, the next look tells that.
  text.copy = text.copy || (stat.flags & kForkedOnly) != 0;
  // All this was its own, as it is still there: a pid comes again.
  const auto still = files_.stat(pid);
  if (!still || still->started_from_ns != stat.started_from_ns) {
    exits_.forget(pid);
    return false;
  }
  if (!counted) forks_.saw(stat);
  StartRecord record;
  record.identity = process.identity();
  record.attached_ns = process.attached_ns;
  // Later records name it again only where it has another name.
  process.identity().comm.clear();
  feed.record(text);
  feed.record(record);
  processes_.insert_or_assign(pid, std::move(process));
  count_start(context_id);
  clock_.changed(now);
  return true;
}

void PolledProcesses::relabel(PolledProcess& process, std::uint32_t context_id, Feed& feed) {
  if (process.told_end) return;
  process.identity().context_id = context_id;
  process.identity().time_ns = boot_time_ns();
  feed.record(sample_of(process));
}

/// False: it is gone, or another one has its pid.
bool PolledProcesses::see(PolledProcess& process, Feed& feed, Clock::time_point now, bool whole) {
  const auto stat = files_.stat(process.identity().pid);
  if (!stat) return !files_.is_gone(process.identity().pid);
  // What is final is read when its end is told.
  if (stat->started_from_ns != process.stat().started_from_ns || has_ended(*stat)) return false;
  if (stat->parent_pid != process.stat().parent_pid && processes_.contains(stat->parent_pid)) {
    process.waiter_pid = stat->parent_pid;
    processes_.at(stat->parent_pid).has_children = true;
  }
  if (stat->threads > process.most_threads()) forks_.saw_threads(stat->threads - process.most_threads());
  std::optional<PolledProcess> before;
  if (executed(process.stat(), *stat)) before = process;
  whole || before ? process.look(files_, *stat, now) : process.glance(files_, *stat, now);
  process.identity().time_ns = boot_time_ns();
  if (before) tell_exec(process, *before, feed, true);
  return true;
}

void PolledProcesses::tell_exec(PolledProcess& process, const PolledProcess& before, Feed& feed, bool lives) {
  ExecRecord record;
  record.identity = process.identity();
  record.identity.comm = process.stat().comm;
  record.ended_start_ns = process.program_start_ns;
  record.total = before.account();
  record.in_doubt = difference(process.account(), before.account());
  process.add_in_doubt(record.in_doubt.cpu_ns);
  record.missed_children_cpu_ns = before.missed_children_cpu_ns();
  record.ended_peak_pages = before.peak_pages();
  record.flags = before.flags();
  record.flags.last_look = true;
  if (lives)
    record.text =
        proc_text(record.identity.pid, record.identity.start_ns, record.identity.hierarchy, files_.root()).text;
  process.program_start_ns = record.identity.time_ns;
  feed.record(record);
}

void PolledProcesses::look(Feed& feed, bool at_all) {
  const auto now = Clock::now();
  std::vector<std::uint32_t> gone;
  for (auto& [pid, process] : processes_) {
    if (!at_all && now < process.next_look()) continue;
    if (process.told_end ? is_gone(process) : !see(process, feed, now, false)) gone.push_back(pid);
  }
  end_all(std::move(gone), feed);
}

/// A parent is looked at before its children: whose end is in what the parent tells, is found to have ended after it.
void PolledProcesses::sample(Feed& feed) {
  const auto now = Clock::now();
  std::vector<PolledProcess*> in_order;
  for (auto& [pid, process] : processes_)
    if (!process.told_end) in_order.push_back(&process);
  std::sort(in_order.begin(), in_order.end(), [](const PolledProcess* a, const PolledProcess* b) {
    return std::pair(a->identity().start_ns, a->identity().pid) < std::pair(b->identity().start_ns, b->identity().pid);
  });
  std::vector<std::uint32_t> gone;
  for (PolledProcess* const process : in_order)
    if (!see(*process, feed, now, true)) gone.push_back(process->identity().pid);
  end_all(std::move(gone), feed);
  for (const auto& [pid, process] : processes_)
    if (!process.told_end) feed.record(sample_of(process));
}

ThreadRecord PolledProcesses::sample_of(const PolledProcess& process) const {
  ThreadRecord record;
  record.identity = process.identity();
  record.attached_ns = process.attached_ns;
  record.sum = process.account();
  record.missed_children_cpu_ns = process.missed_children_cpu_ns();
  record.flags = process.flags();
  record.memory = process.memory();
  record.threads = std::max<std::uint64_t>(process.stat().threads, 1);
  record.state = state_of(process.stat().state);
  return record;
}

void PolledProcesses::take_ended(Feed& feed) {
  std::vector<std::uint32_t> ended = exits_.take_ended();
  std::erase_if(ended, [this](std::uint32_t pid) {
    const auto known = processes_.find(pid);
    return known == processes_.end() || known->second.told_end;
  });
  end_all(std::move(ended), feed);
}

/// Children before their parents, which may get what they left.
void PolledProcesses::end_all(std::vector<std::uint32_t> gone, Feed& feed) {
  if (gone.empty()) return;
  clock_.changed(Clock::now());
  std::sort(gone.begin(), gone.end(), [this](std::uint32_t a, std::uint32_t b) {
    const auto& first = processes_.at(a).identity();
    const auto& second = processes_.at(b).identity();
    return std::pair(first.start_ns, first.pid) > std::pair(second.start_ns, second.pid);
  });
  for (const std::uint32_t pid : gone)
    if (processes_.contains(pid)) end(pid, feed);
}

void PolledProcesses::end(std::uint32_t pid, Feed& feed) {
  PolledProcess& process = processes_.at(pid);
  if (!process.told_end) tell_end(process, feed);
  // One that nobody has waited for yet stays, so that it is not taken for another.
  if (!is_gone(process)) return;
  give_to_parent(process);
  came_again_ = came_again_ || files_.stat(pid).has_value();
  exits_.forget(pid);
  processes_.erase(pid);
}

/// Those that it has waited for are in what it tells, and not missed. Their ends may have been told before.
void PolledProcesses::end_children_of(const PolledProcess& process, Feed& feed) {
  if (!process.has_children) return;
  std::vector<std::uint32_t> gone;
  for (const auto& [pid, child] : processes_)
    if (child.waiter_pid == process.identity().pid && pid != child.waiter_pid && is_gone(child)) gone.push_back(pid);
  end_all(std::move(gone), feed);
}

/// What it consumed is in what its parent has waited for, if it has. Where somebody else waits for what it leaves, its
/// parent is told of it nevertheless: then less is called missed than was.
void PolledProcesses::give_to_parent(const PolledProcess& process) {
  const std::uint32_t pid = process.identity().pid;
  const auto waiter = processes_.find(process.waiter_pid);
  const bool found = waiter != processes_.end() && waiter->first != pid &&
                     waiter->second.identity().start_ns <= process.identity().start_ns;
  if (found) waiter->second.child_ended(process.cpu_with_children_ns());
  if (!process.has_children) return;
  for (auto& [each, child] : processes_)
    if (child.waiter_pid == pid && each != pid) child.waiter_pid = process.waiter_pid;
  if (found) waiter->second.has_children = true;
}

/// Where it was not waited for yet, or was looked at just before.
PolledProcesses::Final PolledProcesses::read_final(PolledProcess& process) {
  const std::uint32_t pid = process.identity().pid;
  const auto same = [&](const std::optional<ProcStat>& stat) {
    return stat && stat->started_from_ns == process.stat().started_from_ns && has_ended(*stat);
  };
  RawAccount io;
  const auto take = [&](const ProcStat& stat, std::optional<SchedulerTimes> times,
                        const std::optional<ProcStatus>& status, bool has_io) {
    process.end_with(stat, times, status, has_io ? &io : nullptr);
    return Final{true, shows_status(stat, status) ? std::optional(stat.wait_status) : std::nullopt};
  };
  if (const auto look = take_last_look(static_cast<pid_t>(pid)))
    if (const auto stat = parse_proc_stat(look->stat); same(stat)) {
      const bool has_io = parse_proc_io(look->io, io);
      return take(*stat, parse_schedstat(look->schedstat), parse_proc_status(look->status), has_io);
    }
  const auto stat = files_.stat(pid);
  if (!same(stat)) return {};
  const auto times = files_.scheduler_times(pid);
  const auto status = files_.status(pid);
  const bool has_io = files_.io(pid, io);
  return is_gone(process) ? Final() : take(*stat, times, status, has_io);
}

void PolledProcesses::tell_end(PolledProcess& process, Feed& feed) {
  const PolledProcess before = process;
  const Final final = read_final(process);
  // Of a process whose first thread had ended before the others, the kernel tells that thread's.
  const bool is_of_leader = before.stat().state == 'Z';
  const int wait_status =
      is_of_leader ? kNoStatus
                   : final.wait_status.value_or(exits_.wait_status(process.identity().pid).value_or(kNoStatus));
  end_children_of(process, feed);
  process.identity().time_ns = boot_time_ns();
  process.told_end = true;
  if (final.known && executed(before.stat(), process.stat())) tell_exec(process, before, feed, false);
  ExitRecord record;
  record.identity = process.identity();
  record.identity.comm = process.stat().comm;
  record.attached_ns = process.attached_ns;
  record.program_start_ns = process.program_start_ns;
  record.total = process.account();
  record.missed_children_cpu_ns = process.missed_children_cpu_ns();
  record.peak_pages = process.peak_pages();
  record.flags = process.flags();
  record.flags.last_look = !final.known || !process.ended_exactly();
  set_status(record, wait_status);
  count_end(process.identity().context_id, wait_status != kNoStatus && wait_status != 0);
  feed.record(record);
}

void PolledProcesses::count_start(std::uint32_t context_id) {
  const std::lock_guard lock(totals_mutex_);
  RawTotals& totals = totals_[context_id];
  totals.context_id = context_id;
  ++totals.living;
}

void PolledProcesses::count_end(std::uint32_t context_id, bool failed) {
  const std::lock_guard lock(totals_mutex_);
  RawTotals& totals = totals_[context_id];
  totals.context_id = context_id;
  if (totals.living != 0) --totals.living;
  totals.lost_sums = ++totals.ended;
  if (failed) ++totals.failed;
}

/// What processes consumed after the last look at them is in no sum.
std::vector<RawTotals> PolledProcesses::totals() const {
  const std::lock_guard lock(totals_mutex_);
  std::vector<RawTotals> all;
  for (const auto& [id, totals] : totals_) all.push_back(totals);
  return all;
}

void PolledProcesses::forget_context(std::uint32_t id) {
  const std::lock_guard lock(totals_mutex_);
  const auto forgotten = totals_.find(id);
  if (forgotten == totals_.end()) return;
  const RawTotals totals = forgotten->second;
  totals_.erase(forgotten);
  const auto [rest, fresh] = totals_.try_emplace(kForgottenContexts);
  rest->second.context_id = kForgottenContexts;
  rest->second.contexts = fresh ? 1 : rest->second.contexts + 1;
  rest->second.living += totals.living;
  rest->second.ended += totals.ended;
  rest->second.failed += totals.failed;
  rest->second.lost_sums = rest->second.ended;
}

}  // namespace tracer::internal
