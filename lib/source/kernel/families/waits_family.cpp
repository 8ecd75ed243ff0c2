// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/families/waits_family.hpp"

#include <cerrno>
#include <span>

#include "wire.h"

#include "source/kernel/call_causes.hpp"
#include "source/kernel/libbpf_log.hpp"
#include "source/kernel/open_options.hpp"
#include "source/kernel/shared_maps.hpp"
#include "waits.skel.h"

namespace tracer {
namespace {

constexpr const char* kSharedMaps[] = {"threads", "displaced_threads", "pipe_waiters"};

}  // namespace

void WaitsFamily::Closer::operator()(waits_bpf* skeleton) const noexcept { ::waits_bpf__destroy(skeleton); }

WaitsFamily::WaitsFamily(const KernelTypes& types, std::uint32_t places) {
  const LibbpfLog log;
  const bpf_object_open_opts options = open_options();
  skeleton_.reset(::waits_bpf__open_opts(&options));
  if (!skeleton_) refuse("open the programs of the family waits", errno, log);
  skeleton_->rodata->thread_mask = places - 1;
  fill_call_causes(std::span(skeleton_->rodata->call_causes));
  ::bpf_map__set_max_entries(skeleton_->maps.threads, places);
  ::bpf_map__set_max_entries(skeleton_->maps.displaced_threads, places / 4 + 1);
  const auto only_if = [&types](const char* tracepoint, bpf_program* program) {
    ::bpf_program__set_autoload(program, types.has_tracepoint(tracepoint));
  };
  only_if("sched_waking", skeleton_->progs.waits_waking);
  only_if("mm_vmscan_direct_reclaim_begin", skeleton_->progs.waits_reclaim_begin);
  only_if("mm_vmscan_direct_reclaim_end", skeleton_->progs.waits_reclaim_end);
  only_if("mm_vmscan_memcg_reclaim_begin", skeleton_->progs.waits_cgroup_reclaim_begin);
  only_if("mm_vmscan_memcg_reclaim_end", skeleton_->progs.waits_cgroup_reclaim_end);
  if (const int failed = ::waits_bpf__load(skeleton_.get()))
    refuse("load the programs of the family waits", -failed, log);
}

WaitsFamily::~WaitsFamily() = default;

void WaitsFamily::share_with(bpf_object& object) const {
  const LibbpfLog log;
  share_maps(*skeleton_->obj, object, kSharedMaps, log);
}

void WaitsFamily::attach() {
  const LibbpfLog log;
  if (const int failed = ::waits_bpf__attach(skeleton_.get()))
    refuse("attach the programs of the family waits", -failed, log);
}

void WaitsFamily::detach() noexcept { ::waits_bpf__detach(skeleton_.get()); }

const bpf_object& WaitsFamily::object() const noexcept { return *skeleton_->obj; }

}  // namespace tracer
