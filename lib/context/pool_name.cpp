// SPDX-License-Identifier: Apache-2.0
#include "context/pool_name.hpp"

namespace tracer::internal {
namespace {

constexpr int kMostAncestors = 8;

}  // namespace

std::shared_ptr<const Program> named_by_pool(const ToolRules& tools, const ContextPlace& place,
                                             std::shared_ptr<const Program> program) {
  if (!program->tool || !tools.is_worker(*program->tool)) return program;
  const Lineage* above = place.above.get();
  for (int n = 0; n < kMostAncestors && above != nullptr; ++n, above = above->up.get()) {
    if (!above->process) continue;
    const std::optional<std::string>& tool = above->process->program->tool;
    if (!tool || tools.is_worker(*tool) || tools.is_bare_shell(*tool)) continue;
    auto named = std::make_shared<Program>(*program);
    named->tool = *tool;
    return named;
  }
  return program;
}

}  // namespace tracer::internal
