// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/families/disks.hpp"

#include <bpf/bpf.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "disks.skel.h"
#include "lifecycle.skel.h"
#include "source/kernel/device_sums.hpp"
#include "source/kernel/load/check_items.hpp"
#include "source/kernel/load/shared_maps.hpp"
#include "source/kernel/map_keys.hpp"
#include "source/proc/block_devices.hpp"

namespace tracer::internal {
namespace {

constexpr const char* kMapsOfDiskWaits[] = {"last_bio"};
constexpr const char* kTracepoints[] = {"block_rq_issue", "block_rq_complete", "block_bio_queue"};

bool is_heavier(const DeviceRecord::Use& a, const DeviceRecord::Use& b) {
  return std::tuple(b.bytes, a.pid, a.start_ns) < std::tuple(a.bytes, b.pid, b.start_ns);
}

}  // namespace

DisksFamily::DisksFamily() noexcept = default;
DisksFamily::~DisksFamily() = default;

void DisksFamily::check(const KernelTypes& types, std::vector<CheckItem>& items) const {
  for (const char* tracepoint : kTracepoints)
    items.push_back(tracepoint_item(types, tracepoint, false,
                                    "family disks: what block devices did, and who asked for most", "5.5 with BTF"));
}

void DisksFamily::load(FamilySetup& setup) {
  for (const char* tracepoint : kTracepoints)
    if (!setup.types.has_tracepoint(tracepoint))
      throw Error({ErrorCode::kKernelTooOld,
                   0,
                   std::string("this kernel has no tracepoint ") + tracepoint,
                   "use a kernel with CONFIG_BLOCK and type information of it",
                   {}});
  skeleton_.load(id(), setup.keep, &::disks_bpf__open_opts, &::disks_bpf__destroy,
                 [&](disks_bpf& bpf, const LibbpfLog& log) {
                   bpf.rodata->slot_mask = setup.places - 1;
                   ::bpf_program__set_autoload(bpf.progs.issued, !setup.types.issue_has_queue());
                   ::bpf_program__set_autoload(bpf.progs.issued_in_queue, setup.types.issue_has_queue());
                   ::bpf_program__set_autoload(bpf.progs.queued, !setup.types.bio_queue_has_queue());
                   ::bpf_program__set_autoload(bpf.progs.queued_in_queue, setup.types.bio_queue_has_queue());
                   share_maps(*setup.lifecycle->obj, *bpf.obj, kMapsOfProcesses, log);
                   if (setup.waits != nullptr) share_maps(*setup.waits, *bpf.obj, kMapsOfDiskWaits, log);
                 });
}

void DisksFamily::unload(FamilySetup&) noexcept { skeleton_.unload(); }

void DisksFamily::attach() {
  busy_ns_ = busy_ns_of_devices();
  read_ns_ = boot_time_ns();
  skeleton_.attach(id());
}

void DisksFamily::detach() noexcept { skeleton_.detach(); }

const bpf_object* DisksFamily::object() const noexcept { return &skeleton_.object(); }

DisksFamily::UsesByDevice DisksFamily::take_uses() {
  const bpf_map& map = *skeleton_->maps.device_uses;
  UsesByDevice uses;
  for (const auto& key : keys_of<tracer_device_use_key>(map)) {
    std::uint64_t bytes = 0;
    if (take_value(::bpf_map__fd(&map), key, bytes)) uses[key.device].push_back({key.pid, key.start_ns, bytes});
  }
  for (auto& [device, each] : uses) std::sort(each.begin(), each.end(), is_heavier);
  return uses;
}

std::optional<std::uint64_t> DisksFamily::more_busy_ns(std::uint32_t device) {
  const auto now_ns = device_busy_ns(device);
  if (!now_ns) {
    busy_ns_.erase(device);
    return std::nullopt;
  }
  // One that came later began at 0.
  const std::uint64_t before_ns = std::exchange(busy_ns_[device], *now_ns);
  if (*now_ns < before_ns) return std::nullopt;
  return *now_ns - before_ns;
}

void DisksFamily::forget(std::uint32_t device) {
  ::bpf_map_delete_elem(::bpf_map__fd(skeleton_->maps.devices), &device);
  sums_.erase(device);
  busy_ns_.erase(device);
}

void DisksFamily::read(Decoder&, Feed& feed, const SnapshotHelp& help) {
  if (!help.regular) return;
  const int map = ::bpf_map__fd(skeleton_->maps.devices);
  UsesByDevice uses = take_uses();
  std::set<std::uint32_t> devices;
  for (const std::uint32_t device : keys_of<std::uint32_t>(*skeleton_->maps.devices)) devices.insert(device);
  for (const auto& [device, each] : uses) devices.insert(device);
  const std::uint64_t since_ns = std::exchange(read_ns_, boot_time_ns());
  for (const std::uint32_t device : devices) {
    help.between();
    tracer_device_sums now{};
    ::bpf_map_lookup_elem(map, &device, &now);
    const auto name = device_name(device);
    tracer_device_sums& before = sums_[device];
    const bool idle = same_sums(before, now) && !uses.contains(device);
    if (!idle) {
      Record record(std::in_place_type<DeviceRecord>);
      auto& each = std::get<DeviceRecord>(record);
      each.time_ns = read_ns_;
      each.since_ns = since_ns;
      each.device = device;
      each.name = name;
      take_difference(before, now, each);
      each.busy_ns = more_busy_ns(device);
      each.uses = std::move(uses[device]);
      before = now;
      feed.record(record);
    } else if (!name) {
      forget(device);
    }
  }
}

std::unique_ptr<KernelFamily> disks_family() { return std::make_unique<DisksFamily>(); }

}  // namespace tracer::internal
