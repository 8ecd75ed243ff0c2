// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/kernel_support.hpp"

#include <bpf/btf.h>
#include <linux/capability.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <span>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"

namespace tracer {
namespace {

constexpr const char* kBtfFile = "/sys/kernel/btf/vmlinux";

std::uint64_t effective_capabilities() {
  const auto status = read_small_file("/proc/self/status");
  if (!status) return 0;
  const std::size_t at = status->find("CapEff:");
  if (at == std::string::npos) return 0;
  return std::strtoull(status->c_str() + at + 7, nullptr, 16);
}

bool has(std::uint64_t capabilities, unsigned capability) { return ((capabilities >> capability) & 1u) != 0; }

CheckItem capability_item(std::uint64_t held, unsigned capability, const char* name, const char* effect) {
  CheckItem item;
  item.name = fmt::format("capability {}", name);
  item.effect = effect;
  item.available = has(held, capability) || has(held, CAP_SYS_ADMIN);
  if (!item.available)
    item.problem = Problem{ErrorCode::kPermission,
                           0,
                           fmt::format("{} is missing: uid {} does not have it", name, ::geteuid()),
                           fmt::format("run as root (sudo), or: setcap cap_bpf,cap_perfmon+ep PROGRAM"),
                           {}};
  return item;
}

CheckItem tracepoint_item(const KernelTypes& types, const char* name, bool required, const char* effect,
                          const char* since) {
  CheckItem item;
  item.name = fmt::format("tracepoint {}", name);
  item.required = required;
  item.effect = effect;
  item.available = types.has_tracepoint(name);
  if (!item.available)
    item.problem = Problem{ErrorCode::kKernelTooOld,
                           0,
                           fmt::format("this kernel has no tracepoint {}", name),
                           fmt::format("it came with Linux {}", since),
                           {}};
  return item;
}

CheckItem feature_item(const char* name, bool available, const char* effect, const char* since) {
  CheckItem item;
  item.name = name;
  item.required = false;
  item.effect = effect;
  item.available = available;
  if (!available)
    item.problem = Problem{ErrorCode::kKernelTooOld,
                           0,
                           fmt::format("this kernel can't tell: {}", effect),
                           fmt::format("needs Linux {}", since),
                           {}};
  return item;
}

}  // namespace

KernelTypes::KernelTypes() : btf_(::btf__load_vmlinux_btf()) {}

KernelTypes::~KernelTypes() { ::btf__free(btf_); }

bool KernelTypes::has_tracepoint(const std::string& name) const {
  if (btf_ == nullptr) return false;
  return ::btf__find_by_name_kind(btf_, ("btf_trace_" + name).c_str(), BTF_KIND_TYPEDEF) > 0;
}

bool KernelTypes::has_per_cpu_rss() const {
  return btf_ != nullptr && ::btf__find_by_name_kind(btf_, "mm_rss_stat", BTF_KIND_STRUCT) <= 0;
}

bool KernelTypes::exit_has_memory() const {
  if (btf_ == nullptr) return false;
  const int id = ::btf__find_by_name_kind(btf_, "btf_trace_sched_process_exit", BTF_KIND_TYPEDEF);
  if (id <= 0) return false;
  const btf_type* type = ::btf__type_by_id(btf_, static_cast<__u32>(id));
  while (type != nullptr && (::btf_is_typedef(type) || ::btf_is_ptr(type))) type = ::btf__type_by_id(btf_, type->type);
  return type != nullptr && ::btf_is_func_proto(type) && ::btf_vlen(type) >= 3;
}

bool KernelTypes::has_ring_buffer() const {
  return btf_ != nullptr && ::btf__find_by_name_kind(btf_, "bpf_ringbuf", BTF_KIND_STRUCT) > 0;
}

bool KernelTypes::has_task_iterator() const {
  return btf_ != nullptr && ::btf__find_by_name_kind(btf_, "bpf_iter_task", BTF_KIND_FUNC) > 0;
}

bool KernelTypes::has_cgroup_peak() const {
  if (btf_ == nullptr) return false;
  // Its name before 6.12, and since.
  return ::btf__find_by_name_kind(btf_, "memory_peak_read", BTF_KIND_FUNC) > 0 ||
         ::btf__find_by_name_kind(btf_, "memory_peak_show", BTF_KIND_FUNC) > 0;
}

bool KernelTypes::has_run_queues() const {
  const int id = btf_ == nullptr ? 0 : ::btf__find_by_name_kind(btf_, "cfs_rq", BTF_KIND_STRUCT);
  if (id <= 0) return false;
  const btf_type* type = ::btf__type_by_id(btf_, static_cast<__u32>(id));
  const std::span members(::btf_members(type), ::btf_vlen(type));
  return std::any_of(members.begin(), members.end(), [this](const btf_member& member) {
    return std::string_view(::btf__name_by_offset(btf_, member.name_off)) == "rq";
  });
}

bool KernelTypes::has_cpu_limits() const {
  const int id = btf_ == nullptr ? 0 : ::btf__find_by_name_kind(btf_, "cfs_bandwidth", BTF_KIND_STRUCT);
  return id > 0 && ::btf_vlen(::btf__type_by_id(btf_, static_cast<__u32>(id))) > 0;
}

bool KernelTypes::has_file_iterator() const {
  return btf_ != nullptr && ::btf__find_by_name_kind(btf_, "bpf_iter_task_file", BTF_KIND_FUNC) > 0;
}

CgroupLayout cgroup_layout() {
  CgroupLayout layout;
  const auto text = read_small_file("/proc/cgroups");
  if (!text) return layout;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    unsigned hierarchy = 0;
    if (!(words >> name >> hierarchy) || hierarchy == 0) continue;
    if (name == "memory") layout.memory_is_v1 = true;
    if (name == "pids") layout.pids_is_v1 = true;
  }
  return layout;
}

CheckReport check_kernel(const KernelTypes& types) {
  CheckReport report;
  const std::uint64_t held = effective_capabilities();
  report.items.push_back(capability_item(held, CAP_BPF, "CAP_BPF", "loading programs"));
  report.items.push_back(
      capability_item(held, CAP_PERFMON, "CAP_PERFMON", "attaching to tracepoints, reading kernel fields"));

  CheckItem btf;
  btf.name = "kernel type information";
  btf.effect = "programs that fit this kernel";
  btf.available = types.available();
  if (!btf.available)
    btf.problem = Problem{ErrorCode::kNoBtf,
                          errno,
                          fmt::format("{} can't be read", kBtfFile),
                          "use a kernel built with CONFIG_DEBUG_INFO_BTF=y (all current distributions' are)",
                          {}};
  report.items.push_back(std::move(btf));
  if (!types.available()) return report;

  report.items.push_back(tracepoint_item(types, "sched_process_fork", true, "the process tree", "5.5 with BTF"));
  report.items.push_back(
      tracepoint_item(types, "sched_process_exec", true, "programs and their arguments", "5.5 with BTF"));
  report.items.push_back(tracepoint_item(types, "sched_process_exit", true, "exit status", "5.5 with BTF"));
  report.items.push_back(tracepoint_item(types, "sched_switch", true, "final accounts", "5.5 with BTF"));
  report.items.push_back(
      tracepoint_item(types, "cgroup_mkdir", true, "names of short-lived containers", "5.5 with BTF"));
  CheckItem ring;
  ring.name = "ring buffer and task iterator";
  ring.effect = "events in order; living processes";
  ring.available = types.has_ring_buffer() && types.has_task_iterator();
  if (!ring.available)
    ring.problem = Problem{ErrorCode::kKernelTooOld,
                           0,
                           "this kernel has no BPF ring buffer or no iterator over tasks",
                           "use Linux 5.8 or later",
                           {}};
  report.items.push_back(std::move(ring));
  report.items.push_back(
      tracepoint_item(types, "sched_prepare_exec", false, "the peak memory of a program that an exec ends", "6.10"));
  report.items.push_back(
      feature_item("memory at exit", types.exit_has_memory(),
                   "the peak memory of a program that used less than its predecessor in the same process "
                   "(else peak_rss_bytes is null and peak_rss_at_most_bytes a bound)",
                   "6.16"));
  report.items.push_back(feature_item("run queues of tasks", types.has_run_queues(), "the family waits",
                                      "with CONFIG_FAIR_GROUP_SCHED=y"));
  report.items.push_back(
      tracepoint_item(types, "sched_waking", false, "family waits: who ended a wait for a pipe", "5.5"));
  report.items.push_back(tracepoint_item(types, "mm_vmscan_direct_reclaim_begin", false,
                                         "family waits: time in which memory was freed for a process", "5.5"));
  report.items.push_back(
      feature_item("limits on CPU time", types.has_cpu_limits(),
                   "family waits: time in which a cgroup had used up its share (else throttled_ns is null)",
                   "with CONFIG_CFS_BANDWIDTH=y"));
  report.items.push_back(feature_item("iterator over open files", types.has_file_iterator(),
                                      "family snapshots: progress in files", "5.8"));
  report.items.push_back(
      feature_item("peak memory of v2 cgroups", types.has_cgroup_peak(),
                   "family snapshots: the kernel's own peak of a cgroup (else memory_peak_bytes is null)", "5.19"));
  return report;
}

CheckReport check() { return check_kernel(KernelTypes()); }

}  // namespace tracer
