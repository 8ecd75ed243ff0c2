// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "wire.h"

#include "lifecycle.skel.h"
#include "memory.skel.h"
#include "source/kernel/load/check_items.hpp"
#include "source/kernel/families/family.hpp"
#include "source/proc/pid_namespace.hpp"
#include "source/kernel/load/shared_maps.hpp"
#include "source/kernel/load/skeleton.hpp"
#include "source/kernel/ring/wire_reading.hpp"

namespace tracer::internal {
namespace {

bool take_oom_kill(std::span<const std::byte> bytes, EventRecord& record) {
  tracer_wire_oom_kill wire;
  if (!take(bytes, wire)) return false;
  std::string_view rest = text_after(bytes, sizeof wire);
  const auto path = cut(rest, wire.path_size);
  if (!path || !take_identity(wire.header, wire.identity, record.identity)) return false;
  OomKill kill;
  kill.time_ns = wire.header.time_ns;
  kill.scope = wire.has_cgroup != 0 ? "cgroup" : "host";
  if (wire.has_cgroup != 0) {
    kill.limit_cgroup = path_of(*path, false);
    kill.limit_bytes = bytes_of_pages(wire.limit_pages);
    kill.usage_bytes = bytes_of_pages(wire.usage_pages);
    kill.peak_bytes = bytes_of_pages(wire.peak_pages);
  }
  if (wire.allocator_pid != 0) kill.allocator_pid = wire.allocator_pid;
  record.event = std::make_shared<const UnjoinedEventOf<OomKill>>(std::move(kill));
  return true;
}

constexpr WireRecord kMemoryRecords[] = {{TRACER_WIRE_OOM_KILL, decode_as<EventRecord, take_oom_kill>}};

/// The program that sees whom the kernel kills as memory has run out.
class MemoryFamily final : public KernelFamily {
 public:
  Family id() const noexcept override { return Family::kMemory; }
  const char* mechanism() const noexcept override { return "tp_btf: mark_victim"; }

  void check(const KernelTypes& types, std::vector<CheckItem>& items) const override {
    items.push_back(feature_item("tracepoint mark_victim with its task", types.victim_is_task(),
                                 "family memory: processes that were killed as memory had run out (else oom_killed is "
                                 "null)",
                                 "6.10, or a stable kernel with that change"));
  }

  std::span<const WireRecord> records() const noexcept override { return kMemoryRecords; }

  void load(FamilySetup& setup) override {
    if (!setup.types.victim_is_task() || !setup.types.has_tracepoint("signal_generate"))
      throw Error({ErrorCode::kKernelTooOld,
                   0,
                   "this kernel does not report which task it kills as memory has run out",
                   "it came with Linux 6.10, and with later stable releases of older ones",
                   {}});
    skeleton_.load(id(), setup.keep, &::memory_bpf__open_opts, &::memory_bpf__destroy,
                   [&](memory_bpf& bpf, const LibbpfLog& log) {
                     bpf.rodata->slot_mask = setup.places - 1;
                     bpf.rodata->own_pid_namespace = own_pid_namespace();
                     set_rings(*bpf.rodata, setup);
                     share_maps(*setup.lifecycle->obj, *bpf.obj, kMapsToSend, log);
                     share_maps(*setup.lifecycle->obj, *bpf.obj, kMapsOfProcesses, log);
                   });
  }
  void unload(FamilySetup&) noexcept override { skeleton_.unload(); }
  void attach() override { skeleton_.attach(id()); }
  void end_events() noexcept override { detach(); }
  void detach() noexcept override { skeleton_.detach(); }
  const bpf_object* object() const noexcept override { return &skeleton_.object(); }

 private:
  Skeleton<memory_bpf> skeleton_;
};

}  // namespace

std::unique_ptr<KernelFamily> memory_family() { return std::make_unique<MemoryFamily>(); }

}  // namespace tracer::internal
