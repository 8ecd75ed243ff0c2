// SPDX-License-Identifier: Apache-2.0
#include <tracer/check.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "source/kernel/load/call_cost.hpp"
#include "source/kernel/load/kernel_programs.hpp"
#include "source/kernel/load/kernel_support.hpp"
#include "source/kernel/load/refusal.hpp"

namespace tracer {
namespace {

/// By a short call of this process, which is not followed, with and without the programs. Detaches them. Absent: they
/// are not attached.
std::optional<CheckItem> cost_of_syscalls(internal::KernelPrograms& programs) {
  if (!programs.is_active(Family::kSyscalls)) return std::nullopt;
  const double with = internal::shortest_call_ns();
  programs.shed(Family::kSyscalls, {});
  const double without = internal::shortest_call_ns();
  CheckItem item;
  item.name = "cost of the family syscalls";
  item.required = false;
  item.available = true;
  item.effect = fmt::format("slows each call of the host by {:.0f} ns, measured here; it is loaded on request only",
                            std::round(std::max(with - without, 0.0)));
  return item;
}

/// Absent: there is none.
std::optional<CheckItem> gpu_item(const std::vector<FamilyState>& families) {
  for (const FamilyState& state : families) {
    if (state.family != Family::kGpu || !state.active) continue;
    CheckItem item;
    item.name = "GPUs";
    item.required = false;
    item.available = true;
    item.effect = fmt::format("family gpu: use by process, by {}; it is loaded on request only", state.mechanism);
    return item;
  }
  return std::nullopt;
}

}  // namespace

CheckReport check() {
  CheckReport report = internal::check_kernel(internal::KernelTypes(), internal::kernel_families());
  if (!report.usable()) return report;
  // What refuses programs, such as a seccomp filter or lockdown, can only be known by trying.
  std::optional<CheckItem> cost;
  CheckItem item;
  item.name = "loading and attaching programs";
  item.effect = "tracing";
  try {
    internal::KernelSourceOptions options;
    for (const FamilyInfo& info : kFamilies) options.families.push_back(info.family);
    internal::KernelPrograms programs(options);
    programs.attach();
    report.families = programs.states_with_missing_parts();
    item.available = true;
    cost = cost_of_syscalls(programs);
  } catch (const Error& error) {
    item.problem = error.problems().front();
    if (error.code() == ErrorCode::kProgramRefused) {
      if (internal::fix_of_refusal(error.error_number()) == nullptr) {
        item.problem->fix = "report the detail, with the kernel's version";
      } else {
        item.problem->detail.clear();  // libbpf's guesses at the cause.
      }
    }
  }
  report.items.push_back(std::move(item));
  if (cost) report.items.push_back(std::move(*cost));
  if (auto gpus = gpu_item(report.families)) report.items.push_back(std::move(*gpus));
  return report;
}

}  // namespace tracer
