// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/families/waits.hpp"

#include <bpf/bpf.h>

#include <span>
#include <utility>

#include "wire.h"

#include "source/kernel/call_causes.hpp"
#include "source/kernel/load/check_items.hpp"
#include "source/kernel/map_keys.hpp"
#include "source/proc/block_devices.hpp"
#include "source/proc/pid_namespace.hpp"
#include "waits.skel.h"

namespace tracer::internal {
namespace {

void yield(const tracer_disk_waits_key& key, const tracer_disk_waits& waits, Feed& feed) {
  Record record(std::in_place_type<DiskWaitsRecord>);
  auto& of_process = std::get<DiskWaitsRecord>(record);
  of_process.identity.pid = key.pid;
  of_process.identity.start_ns = key.start_ns;
  for (int i = 0; i < TRACER_WAITED_DEVICES && waits.device[i] != 0; ++i)
    of_process.waits.push_back({waits.device[i], device_name(waits.device[i]), waits.wait_ns[i]});
  feed.record(record);
}

}  // namespace

WaitsFamily::WaitsFamily() noexcept = default;
WaitsFamily::~WaitsFamily() = default;

void WaitsFamily::check(const KernelTypes& types, std::vector<CheckItem>& items) const {
  items.push_back(feature_item("run queues of tasks", types.has_run_queues(), "the family waits",
                               "with CONFIG_FAIR_GROUP_SCHED=y"));
  items.push_back(tracepoint_item(types, "sched_waking", false,
                                  "family waits: who ended a wait for a pipe, a local socket or a lock", "5.5"));
  items.push_back(tracepoint_item(types, "mm_vmscan_direct_reclaim_begin", false,
                                  "family waits: time in which memory was freed for a process", "5.5"));
  items.push_back(feature_item("limits on CPU time", types.has_cpu_limits(),
                               "family waits: time in which a cgroup had used up its share (else throttled_ns is null)",
                               "with CONFIG_CFS_BANDWIDTH=y"));
}

void WaitsFamily::load(FamilySetup& setup) {
  skeleton_.load(
      id(), setup.keep, &::waits_bpf__open_opts, &::waits_bpf__destroy, [&](waits_bpf& bpf, const LibbpfLog&) {
        bpf.rodata->own_pid_namespace = own_pid_namespace();
        bpf.rodata->thread_mask = setup.thread_places - 1;
        bpf.rodata->switch_tells_state = setup.types.switch_tells_state() ? 1 : 0;
        fill_call_causes(std::span(bpf.rodata->call_causes));
        ::bpf_map__set_max_entries(bpf.maps.threads, setup.thread_places);
        ::bpf_map__set_max_entries(bpf.maps.displaced_threads, most_displaced(setup.thread_places));
        const std::uint32_t process_ledgers = places_of_process_ledgers(setup.places);
        bpf.rodata->process_ledger_mask = process_ledgers - 1;
        ::bpf_map__set_max_entries(bpf.maps.process_ledgers, process_ledgers);
        ::bpf_map__set_max_entries(bpf.maps.displaced_process_ledgers, process_ledgers);
        bpf.rodata->scope_mask = kScopePlaces - 1;
        ::bpf_map__set_max_entries(bpf.maps.scope_ledgers, kScopePlaces);
        bpf.rodata->slot_mask = setup.places - 1;
        ::bpf_map__set_max_entries(bpf.maps.processes, setup.places);
        ::bpf_map__set_max_entries(bpf.maps.displaced_processes, most_displaced(setup.places));
        const auto only_if = [&setup](const char* tracepoint, bpf_program* program) {
          ::bpf_program__set_autoload(program, setup.types.has_tracepoint(tracepoint));
        };
        const bool fetches = setup.types.has_fetching_atomics();
        ::bpf_program__set_autoload(fetches ? bpf.progs.waits_switch_without_fetch : bpf.progs.waits_switch, false);
        only_if("sched_waking", bpf.progs.waits_waking);
        only_if("mm_vmscan_direct_reclaim_begin", bpf.progs.waits_reclaim_begin);
        only_if("mm_vmscan_direct_reclaim_end", bpf.progs.waits_reclaim_end);
        only_if("mm_vmscan_memcg_reclaim_begin", bpf.progs.waits_cgroup_reclaim_begin);
        only_if("mm_vmscan_memcg_reclaim_end", bpf.progs.waits_cgroup_reclaim_end);
      });
  setup.waits = skeleton_->obj;
}

void WaitsFamily::unload(FamilySetup& setup) noexcept {
  setup.waits = nullptr;
  skeleton_.unload();
}

void WaitsFamily::attach() { skeleton_.attach(id()); }

void WaitsFamily::detach() noexcept { skeleton_.detach(); }

void WaitsFamily::read(Decoder&, Feed& feed, const SnapshotHelp&) {
  const bpf_map& map = *skeleton_->maps.disk_waits;
  for (const auto& key : keys_of<tracer_disk_waits_key>(map)) {
    tracer_disk_waits waits;
    if (::bpf_map_lookup_elem(::bpf_map__fd(&map), &key, &waits) == 0) yield(key, waits, feed);
  }
}

bool WaitsFamily::passes(const Record& record, Feed& feed) {
  const auto* exit = std::get_if<ExitRecord>(&record);
  if (exit == nullptr || exit->waits.of(WaitCause::kDisk) == 0) return true;
  const tracer_disk_waits_key key{exit->identity.start_ns, exit->identity.pid, 0};
  tracer_disk_waits waits;
  if (take_value(::bpf_map__fd(skeleton_->maps.disk_waits), key, waits)) yield(key, waits, feed);
  return true;
}

const bpf_object* WaitsFamily::object() const noexcept { return &skeleton_.object(); }

std::unique_ptr<KernelFamily> waits_family() { return std::make_unique<WaitsFamily>(); }

}  // namespace tracer::internal
