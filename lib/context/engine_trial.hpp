// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <tracer/error.hpp>

#include "rules/engines/engine_examples.hpp"
#include "rules/engines/engine_rules.hpp"

namespace tracer::internal {

/// Runs the examples of rules through these; what does not come as expected is a problem, with `origin` and line.
std::vector<Problem> try_examples(const EngineRules& rules, std::span<const EngineExample> examples,
                                  std::string_view origin);

}  // namespace tracer::internal
