// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/kernel_programs.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <span>

#include "wire.h"

#include "lifecycle.skel.h"
#include "source/kernel/call_causes.hpp"
#include "source/kernel/libbpf_log.hpp"
#include "source/kernel/object_usage.hpp"
#include "source/kernel/open_options.hpp"

namespace tracer {

void KernelPrograms::Closer::operator()(lifecycle_bpf* skeleton) const noexcept { ::lifecycle_bpf__destroy(skeleton); }

KernelPrograms::KernelPrograms(const KernelSourceOptions& options) : options_(options) {
  std::vector<Problem> problems;
  for (CheckItem& item : check_kernel(types_).items)
    if (item.required && !item.available && item.problem) problems.push_back(std::move(*item.problem));
  if (!problems.empty()) throw Error(std::move(problems));
  signals_.push_back({Family::kLifecycle, true, "tp_btf: sched_process_fork, _exec, _exit, sched_switch", {}});
  if (options_.waits) load_with_waits();
  if (!lifecycle_) load_lifecycle();
  find_cpu_offsets();
  if (options_.snapshots) load_snapshots();
  if (options_.time_programs) timing_ = UniqueFd(::bpf_enable_stats(BPF_STATS_RUN_TIME));
}

KernelPrograms::~KernelPrograms() = default;

std::uint32_t KernelPrograms::places() const {
  return static_cast<std::uint32_t>(std::bit_ceil(options_.max_processes));
}

/// A family that the kernel refuses is left out, and says why.
void KernelPrograms::load_with_waits() {
  SignalState state{Family::kWaits, false, "tp_btf: sched_switch, sched_waking, mm_vmscan_*_reclaim_*", {}};
  try {
    waits_.emplace(types_, places());
    load_lifecycle();
    state.active = true;
  } catch (const Error& error) {
    lifecycle_.reset();
    waits_.reset();
    if (!error.problems().empty()) state.problem = error.problems().front();
  }
  signals_.push_back(std::move(state));
}

/// Without it samples have no progress.
void KernelPrograms::load_snapshots() {
  SignalState state{Family::kSnapshots, true, "iter/task, iter/task_file", {}};
  try {
    snapshots_.emplace(*lifecycle_->obj, places());
  } catch (const Error& error) {
    if (!error.problems().empty()) state.problem = error.problems().front();
  }
  signals_.push_back(std::move(state));
}

void KernelPrograms::load_lifecycle() {
  {
    const LibbpfLog log;
    const bpf_object_open_opts options = open_options();
    lifecycle_.reset(::lifecycle_bpf__open_opts(&options));
    if (!lifecycle_) refuse("open the programs", errno, log);
  }
  configure();
  if (waits_) waits_->share_with(*lifecycle_->obj);
  const LibbpfLog log;
  if (const int failed = ::lifecycle_bpf__load(lifecycle_.get())) refuse("load the programs", -failed, log);
}

void KernelPrograms::find_cpu_offsets() {
  const int prog = ::bpf_program__fd(lifecycle_->progs.find_cpu_offsets);
  LIBBPF_OPTS(bpf_test_run_opts, run);
  if (prog >= 0) ::bpf_prog_test_run_opts(prog, &run);
}

void KernelPrograms::configure() {
  auto* rodata = lifecycle_->rodata;
  const CgroupLayout layout = cgroup_layout();
  rodata->track_all = options_.track_all ? 1 : 0;
  rodata->memory_is_v1 = layout.memory_is_v1 ? 1 : 0;
  rodata->pids_is_v1 = layout.pids_is_v1 ? 1 : 0;
  rodata->cpu_count = static_cast<std::uint32_t>(std::clamp(::libbpf_num_possible_cpus(), 1, 1024));
  rodata->wakeup_bytes = options_.ring_bytes / 8;
  rodata->own_uid_only = options_.own_uid_only ? 1 : 0;
  rodata->own_uid = ::geteuid();
  for (const auto& rule : options_.rules) {
    if (rule.rule.subject == Filter::Subject::kUid) rodata->use_uid_rules = 1;
    if (rule.rule.subject == Filter::Subject::kCgroup) rodata->use_cgroup_rules = 1;
  }
  ::bpf_map__set_max_entries(lifecycle_->maps.events, static_cast<std::uint32_t>(options_.ring_bytes));
  rodata->slot_mask = places() - 1;
  ::bpf_map__set_max_entries(lifecycle_->maps.processes, places());
  ::bpf_map__set_max_entries(lifecycle_->maps.displaced_processes, std::max(places() / 4, 1u));
  // Only for those with several threads, and those that lived before.
  ::bpf_map__set_max_entries(lifecycle_->maps.ended_threads, std::max(places() / 2, std::min(places() * 2, 4096u)));
  if (waits_) {
    rodata->keep_ledgers = 1;
    rodata->thread_mask = places() - 1;
    fill_call_causes(std::span(rodata->call_causes));
    ::bpf_map__set_max_entries(lifecycle_->maps.threads, places());
    ::bpf_map__set_max_entries(lifecycle_->maps.displaced_threads, places() / 4 + 1);
  }
  ::bpf_map__set_max_entries(lifecycle_->maps.totals, static_cast<std::uint32_t>(options_.max_contexts));

  const auto only_if = [](bool wanted, bpf_program* program) { ::bpf_program__set_autoload(program, wanted); };
  only_if(types_.has_tracepoint("sched_prepare_exec"), lifecycle_->progs.process_prepare_exec);
  only_if(types_.has_per_cpu_rss(), lifecycle_->progs.find_cpu_offsets);
  only_if(rodata->use_cgroup_rules != 0, lifecycle_->progs.cgroup_removed);
  ::bpf_program__set_autoattach(lifecycle_->progs.find_cpu_offsets, false);
}

/// Lets this thread be switched on each CPU until the kernel side has seen its clock: see exact_run_time in
/// accounts.h.
void KernelPrograms::visit_cpus() const {
  constexpr int kMostSwitches = 200;
  cpu_set_t before;
  if (::sched_getaffinity(0, sizeof before, &before) != 0) return;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE && cpu < TRACER_MAX_CPUS; ++cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (!CPU_ISSET(cpu, &before) || ::sched_setaffinity(0, sizeof one, &one) != 0) continue;
    const volatile auto& seen_ns = lifecycle_->bss->cpus[cpu].seen_ns;
    for (int n = 0; n < kMostSwitches && seen_ns == 0; ++n) ::usleep(1);
  }
  ::sched_setaffinity(0, sizeof before, &before);
}

void KernelPrograms::attach() {
  try {
    if (waits_) waits_->attach();
  } catch (const Error& error) {
    if (!error.problems().empty()) shed(Family::kWaits, error.problems().front());
  }
  {
    const LibbpfLog log;
    if (const int failed = ::lifecycle_bpf__attach(lifecycle_.get())) refuse("attach the programs", -failed, log);
  }
  visit_cpus();
}

void KernelPrograms::detach() noexcept {
  auto& links = lifecycle_->links;
  for (bpf_link** link : {&links.process_fork, &links.process_prepare_exec, &links.process_exec, &links.process_exit,
                          &links.thread_switch, &links.cgroup_created, &links.cgroup_removed, &links.cgroup_attached}) {
    ::bpf_link__destroy(*link);
    *link = nullptr;
  }
  if (waits_) waits_->detach();
}

void KernelPrograms::shed(Family family, const Problem& problem) {
  if (family == Family::kWaits && waits_) waits_->detach();
  if (family == Family::kSnapshots) snapshots_.reset();
  for (SignalState& state : signals_) {
    if (state.family != family) continue;
    state.active = false;
    state.problem = problem;
  }
}

std::map<Family, std::uint64_t> KernelPrograms::kernel_ns() const {
  std::map<Family, std::uint64_t> times;
  if (timing_.get() < 0 && !programs_are_timed()) return times;
  const std::uint64_t living_ns = sums_of(*lifecycle_->progs.living_tasks).run_ns;
  times[Family::kLifecycle] = sums_of_programs(*lifecycle_->obj).run_ns - living_ns;
  if (waits_) times[Family::kWaits] = sums_of_programs(waits_->object()).run_ns;
  times[Family::kSnapshots] = living_ns + (snapshots_ ? sums_of_programs(snapshots_->object()).run_ns : 0);
  return times;
}

std::uint64_t KernelPrograms::memory_bytes() const {
  return map_memory_bytes(
      {lifecycle_->obj, waits_ ? &waits_->object() : nullptr, snapshots_ ? &snapshots_->object() : nullptr});
}

}  // namespace tracer
