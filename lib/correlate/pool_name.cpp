// SPDX-License-Identifier: Apache-2.0
#include "correlate/pool_name.hpp"

namespace tracer::internal {
namespace {

constexpr int kMostAncestors = 8;

}  // namespace

std::optional<std::string> name_of_pool(const ToolRules& tools, const ContextPlace& place) {
  const Lineage* above = place.above.get();
  for (int n = 0; n < kMostAncestors && above != nullptr; ++n, above = above->up.get()) {
    if (!above->process) continue;
    const std::optional<std::string>& tool = above->process->program->tool;
    if (tool && !tools.is_worker(*tool) && !tools.is_bare_shell(*tool)) return tool;
  }
  return std::nullopt;
}

}  // namespace tracer::internal
