// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "wire.h"

#include "containers.skel.h"
#include "lifecycle.skel.h"
#include "source/kernel/families/family.hpp"
#include "source/kernel/load/check_items.hpp"
#include "source/kernel/load/shared_maps.hpp"
#include "source/kernel/load/skeleton.hpp"
#include "source/kernel/ring/wire_reading.hpp"

namespace tracer::internal {
namespace {

bool take_cgroup_end(std::span<const std::byte> bytes, CgroupEndRecord& record) {
  tracer_wire_cgroup_end wire;
  if (!take(bytes, wire) || !take_hierarchy(wire.hierarchy, record.hierarchy)) return false;
  record.cgroup_id = wire.cgroup_id;
  record.time_ns = wire.header.time_ns;
  if (wire.has_peak != 0) record.peak_bytes = bytes_of_pages(wire.peak_pages);
  return true;
}

constexpr WireRecord kContainersRecords[] = {{TRACER_WIRE_CGROUP_END, decode_as<CgroupEndRecord, take_cgroup_end>}};

/// The program that sees cgroups go, and the peak of their memory.
class ContainersFamily final : public KernelFamily {
 public:
  Family id() const noexcept override { return Family::kContainers; }
  const char* mechanism() const noexcept override { return "tp_btf: cgroup_rmdir"; }

  void check(const KernelTypes& types, std::vector<CheckItem>& items) const override {
    items.push_back(tracepoint_item(types, "cgroup_rmdir", false,
                                    "family containers: when containers end, and the peak of their memory",
                                    "5.5 with BTF"));
  }

  std::span<const WireRecord> records() const noexcept override { return kContainersRecords; }

  void load(FamilySetup& setup) override {
    skeleton_.load(id(), setup.keep, &::containers_bpf__open_opts, &::containers_bpf__destroy,
                   [&](containers_bpf& bpf, const LibbpfLog& log) {
                     const CgroupLayout layout = cgroup_layout();
                     bpf.rodata->memory_is_v1 = layout.memory_is_v1 ? 1 : 0;
                     bpf.rodata->pids_is_v1 = layout.pids_is_v1 ? 1 : 0;
                     set_rings(*bpf.rodata, setup);
                     share_maps(*setup.lifecycle->obj, *bpf.obj, kMapsToSend, log);
                   });
  }
  void unload(FamilySetup&) noexcept override { skeleton_.unload(); }
  void attach() override { skeleton_.attach(id()); }
  void end_events() noexcept override { detach(); }
  void detach() noexcept override { skeleton_.detach(); }
  const bpf_object* object() const noexcept override { return &skeleton_.object(); }

 private:
  Skeleton<containers_bpf> skeleton_;
};

}  // namespace

std::unique_ptr<KernelFamily> containers_family() { return std::make_unique<ContainersFamily>(); }

}  // namespace tracer::internal
