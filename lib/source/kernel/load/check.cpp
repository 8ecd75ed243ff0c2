// SPDX-License-Identifier: Apache-2.0
#include <tracer/check.hpp>

#include <utility>

#include "source/kernel/load/kernel_programs.hpp"
#include "source/kernel/load/kernel_support.hpp"

namespace tracer {

CheckReport check() {
  CheckReport report = internal::check_kernel(internal::KernelTypes(), internal::kernel_families());
  if (!report.usable()) return report;
  // What refuses programs, such as a seccomp filter or lockdown, can only be known by trying.
  CheckItem item;
  item.name = "loading and attaching programs";
  item.effect = "tracing";
  try {
    internal::KernelSourceOptions options;
    for (const FamilyInfo& info : kFamilies) options.families.push_back(info.family);
    internal::KernelPrograms programs(options);
    programs.attach();
    report.families = programs.states();
    item.available = true;
  } catch (const Error& error) {
    if (!error.problems().empty()) item.problem = error.problems().front();
  }
  report.items.push_back(std::move(item));
  return report;
}

}  // namespace tracer
