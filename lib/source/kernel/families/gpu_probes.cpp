// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/families/gpu_probes.hpp"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "lifecycle.skel.h"
#include "source/kernel/load/libbpf_log.hpp"
#include "source/kernel/load/refusal.hpp"
#include "source/kernel/load/return_trial.hpp"
#include "source/kernel/load/shared_maps.hpp"
#include "source/kernel/map_keys.hpp"
#include "source/kernel/ring/wire_reading.hpp"

namespace tracer::internal {
namespace {

constexpr std::uint32_t kMostUsers = 1024;
constexpr std::uint32_t kMostCalls = 4096;

template <std::size_t size>
void put_text(char (&bytes)[size], std::string_view text) {
  std::memcpy(bytes, text.data(), std::min(text.size(), size - 1));
}

GpuUse use_of(const tracer_gpu_sums& sums, const tracer_gpu_library& library, std::uint64_t time_ns) {
  GpuUse use;
  use.time_ns = time_ns;
  use.interface = text_in(library.interface);
  use.library = text_in(library.path);
  use.allocations = sums.allocations;
  use.allocated_bytes = sums.allocated_bytes;
  use.failed_allocations = sums.failed_allocations;
  use.frees = sums.frees;
  use.waits = sums.waits;
  use.wait_ns = sums.wait_ns;
  use.context_switches = sums.context_switches;
  return use;
}

bool take_gpu_use(std::span<const std::byte> bytes, EventRecord& record) {
  tracer_wire_gpu_use wire;
  if (!take(bytes, wire) || !take_identity(wire.header, wire.identity, record.identity)) return false;
  record.event = std::make_shared<const UnjoinedEventOf<GpuUse>>(use_of(wire.sums, wire.library, wire.header.time_ns));
  return true;
}

constexpr WireRecord kGpuRecords[] = {{TRACER_WIRE_GPU_USE, decode_as<EventRecord, take_gpu_use>}};

std::uint64_t number_of(GpuFunction::Does does) {
  switch (does) {
    case GpuFunction::Does::kAllocate: return TRACER_GPU_ALLOCATE;
    case GpuFunction::Does::kFree: return TRACER_GPU_FREE;
    case GpuFunction::Does::kWait: return TRACER_GPU_WAIT;
    case GpuFunction::Does::kSwitch: return TRACER_GPU_SWITCH;
  }
  return TRACER_GPU_WAIT;
}

bool has_some(const tracer_gpu_sums& sums) {
  return (sums.allocations | sums.failed_allocations | sums.frees | sums.waits | sums.context_switches) != 0;
}

/// A wait that ends between two looks is in neither: then the sums have not grown, and the next look has them.
bool has_grown(const tracer_gpu_sums& now, const tracer_gpu_sums& before) {
  return std::memcmp(&now, &before, sizeof now) != 0 && now.waits >= before.waits && now.wait_ns >= before.wait_ns;
}

tracer_gpu_library library_of(const bpf_map& map, std::uint32_t number) {
  tracer_gpu_library library{};
  ::bpf_map_lookup_elem(::bpf_map__fd(&map), &number, &library);
  return library;
}

}  // namespace

std::span<const WireRecord> GpuProbes::records() noexcept { return kGpuRecords; }

std::optional<Problem> GpuProbes::refused_by(const KernelTypes& types) {
  if (types.has_helper("BPF_FUNC_get_attach_cookie")) return std::nullopt;
  return Problem{ErrorCode::kKernelTooOld,
                 0,
                 "this kernel has no cookies of probes: allocations and waits for GPUs are not counted",
                 "use Linux 5.15 or later",
                 {}};
}

GpuProbes::GpuProbes(FamilySetup& setup) {
  skeleton_.load(Family::kGpu, setup.keep, &::gpu_bpf__open_opts, &::gpu_bpf__destroy,
                 [&](gpu_bpf& bpf, const LibbpfLog& log) {
                   bpf.rodata->slot_mask = setup.places - 1;
                   set_rings(*bpf.rodata, setup);
                   ::bpf_map__set_max_entries(bpf.maps.gpu_users, std::min(setup.places, kMostUsers));
                   ::bpf_map__set_max_entries(bpf.maps.gpu_calls, std::min(setup.thread_places, kMostCalls));
                   ::bpf_program__set_autoattach(bpf.progs.gpu_call_begins, false);
                   ::bpf_program__set_autoattach(bpf.progs.gpu_call_returns, false);
                   share_maps(*setup.lifecycle->obj, *bpf.obj, kMapsToSend, log);
                   share_maps(*setup.lifecycle->obj, *bpf.obj, kMapsOfProcesses, log);
                 });
  const LibbpfLog quiet;
  if (setup.types.has_function("__x64_sys_uretprobe") && !survives_probed_return(*skeleton_->progs.gpu_call_returns))
    throw Error({ErrorCode::kProgramRefused,
                 0,
                 "this kernel ends processes under a seccomp filter when they return from a probed function, or that "
                 "could not be tried: allocations and waits for GPUs are not counted",
                 "use Linux 6.14 or later, or a stable release of 6.12 or 6.13 with that mended",
                 {}});
  // Now, as the kernel asks for CAP_SYS_ADMIN, which programs drop before they attach the rest.
  find_kept();
  look();
}

void GpuProbes::attach() { skeleton_.attach(Family::kGpu); }

/// Nobody has seen the returns of calls that an earlier process began to count.
void GpuProbes::find_kept() {
  for (std::uint32_t number = 0; number < TRACER_GPU_LIBRARIES; ++number) {
    const tracer_gpu_library library = library_of(*skeleton_->maps.gpu_libraries, number);
    if (library.inode == 0) break;
    Probed& probed = probed_.emplace_back();
    probed.inode = library.inode;
    probed.device = library.device;
  }
  const int calls = ::bpf_map__fd(skeleton_->maps.gpu_calls);
  for (const std::uint32_t tid : keys_of<std::uint32_t>(*skeleton_->maps.gpu_calls)) {
    tracer_gpu_call call{};
    if (::bpf_map_lookup_elem(calls, &tid, &call) != 0) continue;
    call.does = 0;
    call.stack = 0;
    ::bpf_map_update_elem(calls, &tid, &call, BPF_EXIST);
  }
}

void GpuProbes::detach() noexcept {
  for (Probed& probed : probed_)
    while (!probed.links.empty()) probed.links.pop_back();
  skeleton_.detach();
  looks_ = false;
}

void GpuProbes::look() {
  if (!looks_) return;
  for (const DriverLibrary& library : driver_libraries(GpuLibraryRules::builtin())) probe(library);
}

void GpuProbes::probe(const DriverLibrary& library) {
  const auto number = static_cast<std::uint32_t>(
      std::find_if(probed_.begin(), probed_.end(),
                   [&library](const Probed& each) {
                     return each.inode == library.inode && each.device == static_cast<std::uint32_t>(library.device);
                   }) -
      probed_.begin());
  if (number < probed_.size()) {
    // Only an earlier process has probed it.
    if (probed_[number].name.empty()) probe_functions(library, number);
    return;
  }
  tracer_gpu_library wire{};
  if (number == TRACER_GPU_LIBRARIES)
    return give_up({ErrorCode::kNoGpu,
                    0,
                    fmt::format("more than {} libraries of GPU drivers have been there: calls of {} are not counted",
                                TRACER_GPU_LIBRARIES, library.path),
                    "start the session again",
                    {}});
  if (library.path.size() >= sizeof wire.path)
    return give_up({ErrorCode::kNoGpu, 0, fmt::format("the path of {} is too long", library.path), "move it", {}});
  wire.inode = library.inode;
  wire.device = static_cast<std::uint32_t>(library.device);
  put_text(wire.interface, library.rule->interface);
  put_text(wire.path, library.path);
  ::bpf_map_update_elem(::bpf_map__fd(skeleton_->maps.gpu_libraries), &number, &wire, BPF_ANY);
  Probed& probed = probed_.emplace_back();
  probed.inode = wire.inode;
  probed.device = wire.device;
  probe_functions(library, number);
}

/// All of those that it has, or none.
void GpuProbes::probe_functions(const DriverLibrary& library, std::uint32_t number) {
  Probed& probed = probed_[number];
  probed.name = base_name(library.path);
  for (const GpuFunction& function : library.rule->functions) {
    const LibbpfLog log;
    // In this order: of each call whose beginning is seen, the return is.
    Link at_return = probe_function(library, number, function, true);
    Link at_begin = at_return ? probe_function(library, number, function, false) : nullptr;
    if (at_begin) {
      probed.links.push_back(std::move(at_return));
      probed.links.push_back(std::move(at_begin));
      ++probed.functions;
      continue;
    }
    const int error = errno;
    if (error == ENOENT) continue;
    probed.links.clear();
    probed.functions = 0;
    if (error == EACCES || error == EPERM)
      return give_up({ErrorCode::kPermission,
                      error,
                      fmt::format("{} can't be probed without CAP_SYS_ADMIN: its calls are not counted", library.path),
                      "start the session as root, when the library is there",
                      {}});
    return give_up({ErrorCode::kProgramRefused, error < 4000 ? error : 0,
                    fmt::format("{} of {} can't be probed: its calls are not counted", function.name, library.path),
                    kFixByCheck, log.tail()});
  }
  if (probed.functions == 0)
    return give_up(
        {ErrorCode::kNoGpu,
         0,
         fmt::format("{} has none of the functions of {} that are counted", library.path, library.rule->interface),
         "report the version of the driver",
         {}});
  const std::lock_guard lock(mutex_);
  mechanism_ += fmt::format("{}experimental uprobes on {} ({} functions)", mechanism_.empty() ? "" : ", ", probed.name,
                            probed.functions);
}

/// Null, with errno: ENOENT where it has no such function.
GpuProbes::Link GpuProbes::probe_function(const DriverLibrary& library, std::uint32_t number,
                                          const GpuFunction& function, bool at_return) {
  bpf_uprobe_opts options{};
  options.sz = sizeof options;
  options.retprobe = at_return;
  options.func_name = function.name.c_str();
  options.bpf_cookie = TRACER_GPU_COOKIE(number_of(function.does), std::uint64_t{number},
                                         std::uint64_t{function.arguments[0]}, std::uint64_t{function.arguments[1]});
  const bpf_program* const program = at_return ? skeleton_->progs.gpu_call_returns : skeleton_->progs.gpu_call_begins;
  return Link(::bpf_program__attach_uprobe_opts(
      program, -1, fmt::format("/proc/self/fd/{}", library.file.get()).c_str(), 0, &options));
}

GpuProbes::Uses GpuProbes::uses() const {
  Uses uses;
  const bpf_map& users = *skeleton_->maps.gpu_users;
  for (const tracer_gpu_key& key : keys_of<tracer_gpu_key>(users)) {
    tracer_gpu_user user{};
    if (::bpf_map_lookup_elem(::bpf_map__fd(&users), &key, &user) != 0) continue;
    std::copy(std::begin(user.libraries), std::end(user.libraries), uses[{key.pid, key.start_ns}].begin());
  }
  add_open_waits(uses, boot_time_ns());
  return uses;
}

/// After the sums were read: one that is still open can't be in them.
void GpuProbes::add_open_waits(Uses& uses, std::uint64_t now_ns) const {
  const bpf_map& calls = *skeleton_->maps.gpu_calls;
  for (const std::uint32_t tid : keys_of<std::uint32_t>(calls)) {
    tracer_gpu_call call{};
    if (::bpf_map_lookup_elem(::bpf_map__fd(&calls), &tid, &call) != 0) continue;
    const auto use = uses.find({call.pid, call.start_ns});
    if (use == uses.end() || call.does != TRACER_GPU_WAIT || call.library >= TRACER_GPU_LIBRARIES) continue;
    tracer_gpu_sums& sums = use->second[call.library];
    ++sums.waits;
    sums.wait_ns += now_ns - std::min<std::uint64_t>(now_ns, call.begun_ns);
  }
}

void GpuProbes::yield(const Uses& uses, Feed& feed) {
  const std::uint64_t time_ns = boot_time_ns();
  std::array<std::optional<tracer_gpu_library>, TRACER_GPU_LIBRARIES> libraries;
  Uses told;
  for (const auto& [user, sums] : uses) {
    auto& told_of = told[user];
    if (const auto before = told_.find(user); before != told_.end()) told_of = before->second;
    for (std::uint32_t number = 0; number < TRACER_GPU_LIBRARIES; ++number) {
      if (!has_some(sums[number]) || !has_grown(sums[number], told_of[number])) continue;
      told_of[number] = sums[number];
      auto& library = libraries[number];
      if (!library) library = library_of(*skeleton_->maps.gpu_libraries, number);
      EventRecord record;
      record.only_of_known = true;
      record.identity.time_ns = time_ns;
      record.identity.pid = user.first;
      record.identity.start_ns = user.second;
      record.event = std::make_shared<const UnjoinedEventOf<GpuUse>>(use_of(sums[number], *library, time_ns));
      feed.record(record);
    }
  }
  told_ = std::move(told);
}

void GpuProbes::read(Feed& feed) { yield(uses(), feed); }

void GpuProbes::flush(Feed& feed) {
  const Uses last = uses();
  for (const auto& [user, sums] : last) {
    tracer_gpu_key key{};
    key.pid = user.first;
    key.start_ns = user.second;
    ::bpf_map_delete_elem(::bpf_map__fd(skeleton_->maps.gpu_users), &key);
  }
  yield(last, feed);
}

void GpuProbes::give_up(Problem problem) {
  const std::lock_guard lock(mutex_);
  if (!problem_) problem_ = std::move(problem);
}

std::optional<Problem> GpuProbes::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

bool GpuProbes::has_library() const { return works() || problem(); }

bool GpuProbes::works() const {
  const std::lock_guard lock(mutex_);
  return !mechanism_.empty();
}

std::string GpuProbes::mechanism() const {
  const std::lock_guard lock(mutex_);
  return mechanism_;
}

}  // namespace tracer::internal
