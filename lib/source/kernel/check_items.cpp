// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/check_items.hpp"

#include <fmt/format.h>

namespace tracer::internal {

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

CheckItem member_item(const KernelTypes& types, const char* structure, const char* member, const char* effect,
                      const char* option) {
  CheckItem item;
  item.name = fmt::format("kernel field {}.{}", structure, member);
  item.effect = effect;
  item.available = types.has_member(structure, member);
  if (!item.available)
    item.problem = Problem{ErrorCode::kKernelTooOld,
                           0,
                           fmt::format("this kernel does not keep {}: it has no {}.{}", effect, structure, member),
                           fmt::format("use a kernel with {}", option),
                           {}};
  return item;
}

CheckItem facility_item(const char* name, bool available, const char* effect, const char* what, const char* since) {
  CheckItem item;
  item.name = name;
  item.effect = effect;
  item.available = available;
  if (!available)
    item.problem = Problem{ErrorCode::kKernelTooOld,
                           0,
                           fmt::format("this kernel has no {}", what),
                           fmt::format("use Linux {} or later", since),
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

}  // namespace tracer::internal
