// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/load/kernel_support.hpp"

#include <linux/capability.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>

#include <tracer/host.hpp>

#include "base/scale_cost.hpp"
#include "base/text.hpp"
#include "source/proc/pid_namespace.hpp"
#include "source/proc/user_namespace.hpp"

namespace tracer {
namespace internal {
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
                           fmt::format("missing capability {}", name),
                           in_user_namespace() ? kTraceFromOutside
                                               : "run as root (sudo), or once: tracerd setup; a program of your own: "
                                                 "setcap cap_bpf,cap_perfmon+ep PROGRAM",
                           {}};
  return item;
}

/// Where /proc is of another pid namespace, its numbers are other processes.
CheckItem pid_namespace_item() {
  CheckItem item;
  item.name = "/proc of this pid namespace";
  item.effect = "pids that mean the same here, in /proc and in events";
  const auto status = read_small_file("/proc/self/status");
  item.available = !status || shows_own_namespace(*status);
  if (!item.available)
    item.problem = Problem{ErrorCode::kPidNamespace,
                           0,
                           "/proc belongs to another pid namespace than this process: its pids mean other processes",
                           "mount the namespace's own: unshare --mount-proc, or mount -t proc proc /proc",
                           {}};
  return item;
}

/// Before 5.11 maps count as locked memory; since d5299b67dd59 the memory cgroup is charged instead.
CheckItem locked_memory_item(const KernelTypes& types, std::uint64_t held) {
  // What is not in it: buffers, for each CPU some.
  constexpr std::uint64_t kBytesForEachCpu = 128u << 10;
  const std::uint64_t needed =
      scale_cost_bytes(scale_of_this_machine()) + kBytesForEachCpu * std::max(this_host().cpu_count, 1u);
  CheckItem item;
  item.name = "locked memory";
  item.effect = "tables of the kernel side";
  rlimit limit{};
  item.available = types.has_helper("BPF_FUNC_ktime_get_coarse_ns") || has(held, CAP_SYS_RESOURCE) ||
                   ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_max >= needed;
  if (!item.available)
    item.problem =
        Problem{ErrorCode::kPermission,
                0,
                fmt::format("only {} KiB of memory may be locked; this kernel counts tables as locked, and the default "
                            "ones take {} KiB",
                            limit.rlim_max >> 10, needed >> 10),
                "ulimit -l unlimited (a unit's LimitMEMLOCK=infinity), or CAP_SYS_RESOURCE beside the others",
                {}};
  return item;
}

}  // namespace

CheckReport check_kernel(const KernelTypes& types, std::span<const std::unique_ptr<KernelFamily>> families) {
  CheckReport report;
  const std::uint64_t held = effective_capabilities();
  report.items.push_back(capability_item(held, CAP_BPF, "CAP_BPF", "loading programs"));
  report.items.push_back(
      capability_item(held, CAP_PERFMON, "CAP_PERFMON", "attaching to tracepoints, reading kernel fields"));
  report.items.push_back(pid_namespace_item());

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

  report.items.push_back(locked_memory_item(types, held));
  for (const auto& family : families) family->check(types, report.items);
  std::stable_partition(report.items.begin(), report.items.end(), [](const CheckItem& item) { return item.required; });
  return report;
}

}  // namespace internal

}  // namespace tracer
