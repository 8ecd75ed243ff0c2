// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/load/check_items.hpp"

#include <utility>

#include <fmt/format.h>

namespace tracer::internal {
namespace {

/// `what` and `fix`: of the problem, if it is not available.
CheckItem item_of(std::string name, bool required, bool available, const char* effect, std::string what,
                  std::string fix) {
  CheckItem item;
  item.name = std::move(name);
  item.required = required;
  item.effect = effect;
  item.available = available;
  if (!available) item.problem = Problem{ErrorCode::kKernelTooOld, 0, std::move(what), std::move(fix), {}};
  return item;
}

}  // namespace

CheckItem tracepoint_item(const KernelTypes& types, const char* name, bool required, const char* effect,
                          const char* since) {
  return item_of(fmt::format("tracepoint {}", name), required, types.has_tracepoint(name), effect,
                 fmt::format("this kernel has no tracepoint {}", name), fmt::format("it came with Linux {}", since));
}

CheckItem member_item(const KernelTypes& types, const char* structure, const char* member, const char* effect,
                      const char* option) {
  return item_of(fmt::format("kernel field {}.{}", structure, member), true, types.has_member(structure, member),
                 effect, fmt::format("this kernel does not keep {}: it has no {}.{}", effect, structure, member),
                 fmt::format("use a kernel with {}", option));
}

CheckItem facility_item(const char* name, bool available, const char* effect, const char* what, const char* since) {
  return item_of(name, true, available, effect, fmt::format("this kernel has no {}", what),
                 fmt::format("use Linux {} or later", since));
}

CheckItem feature_item(const char* name, bool available, const char* effect, const char* since) {
  return item_of(name, false, available, effect, fmt::format("this kernel can't report: {}", effect),
                 fmt::format("needs Linux {}", since));
}

}  // namespace tracer::internal
