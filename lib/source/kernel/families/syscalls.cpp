// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <sys/syscall.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "wire.h"

#include "lifecycle.skel.h"
#include "source/kernel/families/family.hpp"
#include "source/kernel/load/check_items.hpp"
#include "source/kernel/load/shared_maps.hpp"
#include "source/kernel/load/skeleton.hpp"
#include "source/kernel/ring/wire_reading.hpp"
#include "syscalls.skel.h"

namespace tracer::internal {
namespace {

static_assert(SyscallUseRecord::kCalls == TRACER_SYSCALLS_OF_ROW);

void take_row(std::uint32_t row, const tracer_syscall_row& sums, SyscallUseRecord& record) {
  record.first = row * TRACER_SYSCALLS_OF_ROW;
  for (std::size_t i = 0; i < record.calls.size(); ++i) {
    const tracer_syscall_sums& from = sums.calls[i];
    SyscallUseRecord::Sums& to = record.calls[i];
    to.calls = from.calls;
    to.failed = from.failed;
    to.duration_ns = from.duration_ns;
    if (from.error != 0) to.error = static_cast<std::int32_t>(from.error);
  }
}

bool take_syscall_use(std::span<const std::byte> bytes, SyscallUseRecord& record) {
  tracer_wire_syscall_use wire;
  if (!take(bytes, wire) || !take_identity(wire.header, wire.identity, record.identity)) return false;
  if (wire.row >= TRACER_SYSCALL_ROWS) return false;
  take_row(wire.row, wire.sums, record);
  return true;
}

constexpr WireRecord kSyscallRecords[] = {{TRACER_WIRE_SYSCALL_USE, decode_as<SyscallUseRecord, take_syscall_use>}};

bool can_see_calls(const KernelTypes& types) {
  return types.has_tracepoint("sys_enter") && types.has_tracepoint("sys_exit");
}

/// The programs that see each system call of the host. The kernel keeps the sums of each process and call, and sends
/// them at the process's end.
class SyscallsFamily final : public KernelFamily {
 public:
  Family id() const noexcept override { return Family::kSyscalls; }
  const char* mechanism() const noexcept override {
    return "tp_btf: sys_enter, sys_exit, signal_deliver, sched_process_exec, sched_process_exit";
  }

  void check(const KernelTypes& types, std::vector<CheckItem>& items) const override {
    items.push_back(feature_item("tracepoints sys_enter and sys_exit", can_see_calls(types),
                                 "family syscalls, on request: system calls of each process",
                                 "with CONFIG_FTRACE_SYSCALLS"));
  }

  std::span<const WireRecord> records() const noexcept override { return kSyscallRecords; }

  void load(FamilySetup& setup) override {
    if (!can_see_calls(setup.types))
      throw Error({ErrorCode::kKernelTooOld,
                   0,
                   "this kernel does not report system calls",
                   "use a kernel with CONFIG_FTRACE_SYSCALLS",
                   {}});
    skeleton_.load(id(), setup.keep, &::syscalls_bpf__open_opts, &::syscalls_bpf__destroy,
                   [&](syscalls_bpf& bpf, const LibbpfLog& log) {
                     bpf.rodata->slot_mask = setup.places - 1;
                     for (const long call : {SYS_exit, SYS_exit_group, SYS_rt_sigreturn})
                       bpf.rodata->returns_elsewhere[call] = 1;
                     bpf.rodata->returns_elsewhere[SYS_restart_syscall] = 1;
                     bpf.rodata->restart_call = SYS_restart_syscall;
                     set_rings(*bpf.rodata, setup);
                     ::bpf_map__set_max_entries(bpf.maps.thread_calls, setup.thread_places);
                     ::bpf_map__set_max_entries(bpf.maps.syscall_rows, setup.places);
                     share_maps(*setup.lifecycle->obj, *bpf.obj, kMapsToSend, log);
                     share_maps(*setup.lifecycle->obj, *bpf.obj, kMapsOfProcesses, log);
                   });
  }
  void unload(FamilySetup&) noexcept override { skeleton_.unload(); }
  void attach() override { skeleton_.attach(id()); }
  void end_events() noexcept override { detach(); }
  void detach() noexcept override { skeleton_.detach(); }
  const bpf_object* object() const noexcept override { return &skeleton_.object(); }

  /// Of processes that live on.
  void flush(Feed& feed) override {
    const int map = ::bpf_map__fd(skeleton_->maps.syscall_rows);
    tracer_syscall_key key{};
    while (::bpf_map_get_next_key(map, nullptr, &key) == 0) {
      tracer_syscall_row row{};
      const bool found = ::bpf_map_lookup_elem(map, &key, &row) == 0;
      if (::bpf_map_delete_elem(map, &key) != 0 || !found) return;
      Record record(std::in_place_type<SyscallUseRecord>);
      auto& rest = std::get<SyscallUseRecord>(record);
      rest.identity.pid = key.pid;
      rest.identity.start_ns = key.start_ns;
      take_row(key.row, row, rest);
      feed.record(record);
    }
  }

 private:
  Skeleton<syscalls_bpf> skeleton_;
};

}  // namespace

std::unique_ptr<KernelFamily> syscalls_family() { return std::make_unique<SyscallsFamily>(); }

}  // namespace tracer::internal
