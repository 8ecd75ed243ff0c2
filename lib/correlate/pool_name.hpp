// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "context/context_place.hpp"
#include "rules/tool_rules.hpp"

namespace tracer::internal {

/// The tool of the process that began the pool to which a worker at this place belongs: of its nearest ancestor that is
/// no worker and no shell without a script. Looks at a few ancestors only. Absent: it is not known.
std::optional<std::string> name_of_pool(const ToolRules& tools, const ContextPlace& place);

}  // namespace tracer::internal
