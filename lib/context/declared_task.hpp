// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include <tracer/context.hpp>

namespace tracer::internal {

/// A task that an engine or its author declares, and not the command of a recipe or launcher that is one by inference.
inline bool is_declared_task(const Context& context) {
  constexpr std::array<std::string_view, 5> kInferring = {"make", "parallel", "xargs", "find", "shell"};
  return context.task_key &&
         !(context.engine && std::find(kInferring.begin(), kInferring.end(), *context.engine) != kInferring.end());
}

}  // namespace tracer::internal
