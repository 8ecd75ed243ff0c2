// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include <tracer/context.hpp>

namespace tracer::internal {

/// A task that an engine or its author speaks of, and not only the command of a recipe.
inline bool is_declared(const Context& context) {
  constexpr std::array<std::string_view, 4> kInferring = {"make", "parallel", "xargs", "shell"};
  const auto& engine = context.engine;
  return context.task_key && !(engine && std::find(kInferring.begin(), kInferring.end(), *engine) != kInferring.end());
}

}  // namespace tracer::internal
