// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <tracer/process.hpp>

#include "context/context_place.hpp"
#include "rules/tool_rules.hpp"

namespace tracer::internal {

/// The program, which a process at this place executes: of a worker of a pool with the tool of the process that began
/// the pool. That is its nearest ancestor that is no worker, and no shell without a script; a few are looked at.
std::shared_ptr<const Program> named_by_pool(const ToolRules& tools, const ContextPlace& place,
                                             std::shared_ptr<const Program> program);

}  // namespace tracer::internal
