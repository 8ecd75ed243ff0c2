// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/families/lifecycle.hpp"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "wire.h"

#include "lifecycle.skel.h"
#include "source/kernel/call_causes.hpp"
#include "source/kernel/load/check_items.hpp"
#include "base/accounts.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "source/kernel/cpu_list.hpp"
#include "source/kernel/load/kernel_types.hpp"
#include "source/kernel/load/libbpf_log.hpp"
#include "source/proc/pid_namespace.hpp"
#include "source/kernel/ring/rings.hpp"
#include "source/kernel/load/shared_maps.hpp"

namespace tracer::internal {
namespace {

constexpr std::uint32_t kContextsPerCpu = 256;

constexpr const char* kMapsOfWaits[] = {"threads",         "displaced_threads",         "awaiting", "wait_peers",
                                        "process_ledgers", "displaced_process_ledgers", "counting", "scope_ledgers",
                                        "processes",       "displaced_processes"};

/// What is not in every kernel, but without which the programs can't be fitted to it.
struct MemberRead {
  const char* structure;
  const char* member;
  const char* effect;
  const char* option;
};
constexpr MemberRead kMemberReads[] = {
    {"sched_info", "run_delay", "time in the run queue",
     "CONFIG_SCHED_INFO=y (with CONFIG_SCHEDSTATS or CONFIG_TASK_DELAY_ACCT)"},
    {"task_io_accounting", "rchar", "bytes and calls of reads and writes", "CONFIG_TASK_XACCT=y"},
    {"task_io_accounting", "read_bytes", "bytes from and to storage", "CONFIG_TASK_IO_ACCOUNTING=y"},
    {"task_struct", "cgroups", "cgroups and containers", "CONFIG_CGROUPS=y"},
    {"task_struct", "start_boottime", "tells processes apart when a pid is reused", "Linux 5.5 or later"},
};

/// Machines announce many more than they have. One that comes online later is noticed by the kernel side.
int cpus_online() {
  const int possible = ::libbpf_num_possible_cpus();
  const auto online = read_small_file("/sys/devices/system/cpu/online");
  return online ? end_of_cpu_list(*online).value_or(possible) : possible;
}

}  // namespace

LifecycleFamily::LifecycleFamily() noexcept = default;
LifecycleFamily::~LifecycleFamily() = default;

void LifecycleFamily::check(const KernelTypes& types, std::vector<CheckItem>& items) const {
  items.push_back(tracepoint_item(types, "sched_process_fork", true, "the process tree", "5.5 with BTF"));
  items.push_back(tracepoint_item(types, "sched_process_exec", true, "programs and their arguments", "5.5 with BTF"));
  items.push_back(tracepoint_item(types, "sched_process_exit", true, "exit status", "5.5 with BTF"));
  items.push_back(tracepoint_item(types, "sched_switch", true, "final accounts", "5.5 with BTF"));
  items.push_back(tracepoint_item(types, "cgroup_mkdir", true, "names of short-lived containers", "5.5 with BTF"));
  items.push_back(
      tracepoint_item(types, "cgroup_attach_task", true, "the cgroup of a process that is moved", "5.5 with BTF"));
  for (const MemberRead& read : kMemberReads)
    items.push_back(member_item(types, read.structure, read.member, read.effect, read.option));
  items.push_back(facility_item("ring buffer and task iterator", types.has_ring_buffer() && types.has_task_iterator(),
                                "events in order; living processes", "BPF ring buffer or no iterator over tasks",
                                "5.8"));
#ifdef __aarch64__
  items.push_back(facility_item("atomic additions that tell what was before", types.has_fetching_atomics(),
                                "sums to which several CPUs add", "BPF atomic additions that tell what was before",
                                "5.18"));
#endif
  items.push_back(tracepoint_item(types, "signal_generate", false,
                                  "who sent the signal that ended a process (else exit_signal_sender is null)", "5.5"));
  items.push_back(
      tracepoint_item(types, "sched_prepare_exec", false, "the peak memory of a program that an exec ends", "6.10"));
  items.push_back(feature_item("memory at exit", types.exit_has_memory(),
                               "the peak memory of a program that used less than its predecessor in the same process "
                               "(else peak_rss_bytes is null and peak_rss_at_most_bytes a bound)",
                               "6.16"));
}

void LifecycleFamily::load(FamilySetup& setup) {
  skeleton_.load(id(), setup.keep, &::lifecycle_bpf__open_opts, &::lifecycle_bpf__destroy,
                 [&](lifecycle_bpf& bpf, const LibbpfLog& log) {
                   configure(bpf, setup);
                   if (setup.waits != nullptr) share_maps(*setup.waits, *bpf.obj, kMapsOfWaits, log);
                 });
  find_cpu_offsets();
  find_fifo_open();
  setup.lifecycle = skeleton_.get();
}

void LifecycleFamily::unload(FamilySetup& setup) noexcept {
  setup.lifecycle = nullptr;
  skeleton_.unload();
}

void LifecycleFamily::find_cpu_offsets() {
  const int prog = ::bpf_program__fd(skeleton_->progs.find_cpu_offsets);
  LIBBPF_OPTS(bpf_test_run_opts, run);
  if (prog >= 0) ::bpf_prog_test_run_opts(prog, &run);
}

/// By a pipe of this process.
void LifecycleFamily::find_fifo_open() const {
  const int prog = ::bpf_program__fd(skeleton_->progs.find_fifo_open);
  int ends[2];
  if (prog < 0 || ::pipe2(ends, O_CLOEXEC) != 0) return;
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  std::uint64_t arguments[] = {static_cast<std::uint64_t>(reader.get())};
  LIBBPF_OPTS(bpf_test_run_opts, run);
  run.ctx_in = arguments;
  run.ctx_size_in = sizeof arguments;
  ::bpf_prog_test_run_opts(prog, &run);
}

void LifecycleFamily::configure(lifecycle_bpf& bpf, FamilySetup& setup) {
  const KernelSourceOptions& options = setup.options;
  const std::uint32_t places = setup.places;
  auto* rodata = bpf.rodata;
  const CgroupLayout layout = cgroup_layout();
  rodata->track_all = options.track_all ? 1 : 0;
  rodata->own_pid_namespace = own_pid_namespace();
  rodata->memory_is_v1 = layout.memory_is_v1 ? 1 : 0;
  rodata->pids_is_v1 = layout.pids_is_v1 ? 1 : 0;
  rodata->cpu_count = static_cast<std::uint32_t>(std::clamp(cpus_online(), 1, TRACER_MAX_CPUS));
  setup.rings = ring_layout(rodata->cpu_count, options.ring_bytes, options.rings);
  setup.ring_bytes = bytes_of_each(setup.rings, options.ring_bytes);
  set_rings(*rodata, setup);
  rodata->own_uid_only = options.own_uid_only ? 1 : 0;
  rodata->own_uid = ::geteuid();
  for (const auto& rule : options.rules) {
    if (rule.rule.subject == Filter::Subject::kUid) rodata->use_uid_rules = 1;
    if (rule.rule.subject == Filter::Subject::kCgroup) rodata->use_cgroup_rules = 1;
  }
  const auto page = static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE));
  ::bpf_map__set_max_entries(bpf.maps.events,
                             setup.rings.rings == 1 ? static_cast<std::uint32_t>(setup.ring_bytes) : page);
  ::bpf_map__set_max_entries(bpf.maps.event_rings, setup.rings.rings);
  rodata->slot_mask = places - 1;
  ::bpf_map__set_max_entries(bpf.maps.processes, places);
  ::bpf_map__set_max_entries(bpf.maps.displaced_processes, most_displaced(places));
  // Only for those with several threads, and those that lived before.
  ::bpf_map__set_max_entries(bpf.maps.ended_threads, std::max(places / 2, std::min(places * 2, 4096u)));
  if (setup.waits != nullptr) {
    rodata->keep_ledgers = 1;
    rodata->thread_mask = setup.thread_places - 1;
    fill_call_causes(std::span(rodata->call_causes));
    ::bpf_map__set_max_entries(bpf.maps.threads, setup.thread_places);
    ::bpf_map__set_max_entries(bpf.maps.displaced_threads, most_displaced(setup.thread_places));
    const std::uint32_t process_ledgers = places_of_process_ledgers(places);
    rodata->process_ledger_mask = process_ledgers - 1;
    ::bpf_map__set_max_entries(bpf.maps.process_ledgers, process_ledgers);
    ::bpf_map__set_max_entries(bpf.maps.displaced_process_ledgers, process_ledgers);
    rodata->scope_mask = kScopePlaces - 1;
    ::bpf_map__set_max_entries(bpf.maps.scope_ledgers, kScopePlaces);
  }
  const auto cgroups = static_cast<std::uint32_t>(options.max_cgroups);
  ::bpf_map__set_max_entries(bpf.maps.cgroup_rules, cgroups);
  // Each CPU takes 128 of its entries at a time, before 6.16.
  ::bpf_map__set_max_entries(bpf.maps.cgroups_sent, std::max(cgroups / 2, 256 * rodata->cpu_count));
  // A place for each CPU is the fastest, and is dear where there are many CPUs.
  const auto contexts = static_cast<std::uint32_t>(options.max_contexts);
  ::bpf_map__set_max_entries(bpf.maps.totals, std::min(contexts, kContextsPerCpu));
  ::bpf_map__set_max_entries(bpf.maps.more_totals, std::max(contexts, kContextsPerCpu + 1) - kContextsPerCpu);
  const auto labels = static_cast<std::uint32_t>(options.max_labeled_threads);
  for (bpf_map* map : {bpf.maps.thread_labels, bpf.maps.inherited_labels, bpf.maps.open_labels})
    ::bpf_map__set_max_entries(map, labels);

  const auto only_if = [](bool wanted, bpf_program* program) { ::bpf_program__set_autoload(program, wanted); };
  only_if(setup.types.has_tracepoint("sched_prepare_exec"), bpf.progs.process_prepare_exec);
  only_if(setup.types.has_tracepoint("signal_generate"), bpf.progs.signal_sent);
  only_if(setup.types.has_per_cpu_rss(), bpf.progs.find_cpu_offsets);
  const auto& programs = bpf.progs;
  bpf_program* const run_by_user_space[] = {programs.count_here,   programs.begin_scope, programs.end_scope,
                                            programs.put_in_scope, programs.read_scope,  programs.find_fifo_open};
  for (bpf_program* program : run_by_user_space) {
    only_if(rodata->keep_ledgers != 0, program);
    ::bpf_program__set_autoattach(program, false);
  }
  only_if(rodata->use_cgroup_rules != 0, bpf.progs.cgroup_removed);
  ::bpf_program__set_autoattach(bpf.progs.find_cpu_offsets, false);
}

/// Lets this thread be switched on each CPU until the kernel side has seen its clock: see exact_run_time in
/// accounts.h.
void LifecycleFamily::visit_cpus() const {
  constexpr int kMostSwitches = 200;
  cpu_set_t before;
  if (::sched_getaffinity(0, sizeof before, &before) != 0) return;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE && cpu < TRACER_MAX_CPUS; ++cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (!CPU_ISSET(cpu, &before) || ::sched_setaffinity(0, sizeof one, &one) != 0) continue;
    const volatile auto& seen_ns = skeleton_->bss->cpus[cpu].seen_ns;
    for (int n = 0; n < kMostSwitches && seen_ns == 0; ++n) ::usleep(1);
  }
  ::sched_setaffinity(0, sizeof before, &before);
}

void LifecycleFamily::attach() {
  skeleton_.attach(id());
  visit_cpus();
}

void LifecycleFamily::use(const UserIds& user_ids) {
  const int map = ::bpf_map__fd(skeleton_->maps.id_ranges);
  std::uint32_t count = 0;
  for (const SubordinateIds& range : user_ids.apart(Accounts::kUnknownUser)) {
    if (count + 1 == TRACER_MOST_ID_RANGES) break;
    const tracer_id_range made{range.first, static_cast<std::uint32_t>(range.first + range.count - 1), range.owner};
    ::bpf_map_update_elem(map, &++count, &made, BPF_ANY);
  }
  const std::uint32_t none = 0;
  const tracer_id_range all{count, 0, 0};
  ::bpf_map_update_elem(map, &none, &all, BPF_ANY);
}

void LifecycleFamily::end_events() noexcept {
  skeleton_.close_kept_links();
  auto& links = skeleton_->links;
  for (bpf_link** link :
       {&links.process_fork, &links.process_prepare_exec, &links.process_exec, &links.process_exit, &links.signal_sent,
        &links.thread_switch, &links.cgroup_created, &links.cgroup_removed, &links.cgroup_attached}) {
    ::bpf_link__destroy(*link);
    *link = nullptr;
  }
}

void LifecycleFamily::detach() noexcept { skeleton_.detach(); }

const bpf_object* LifecycleFamily::object() const noexcept { return &skeleton_.object(); }

ProgramSums LifecycleFamily::usage() const {
  // Read before the sum, which so is at least as much.
  const std::uint64_t living_ns = sums_of(*skeleton_->progs.living_tasks).run_ns;
  const std::uint64_t exit_misses = sums_of(*skeleton_->progs.process_exit).recursion_misses;
  ProgramSums sums = sums_of_programs(*object());
  sums.run_ns -= living_ns;
  // What process_exit alone misses is no loss: its process then says that its peak is a bound.
  sums.recursion_misses -= exit_misses;
  return sums;
}

std::unique_ptr<KernelFamily> lifecycle_family() { return std::make_unique<LifecycleFamily>(); }

}  // namespace tracer::internal
