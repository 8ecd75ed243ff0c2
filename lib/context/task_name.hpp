// SPDX-License-Identifier: Apache-2.0
/// What a task is called: in tables, pages, lists and on the live line.
#pragma once

#include <string>

#include <tracer/context.hpp>

namespace tracer::internal {

/// "ALIGN (S1)": what the engine or a label calls it, or its id. Within its step it says enough.
inline std::string own_task_name(const Context& context) {
  std::string name = context.task.value_or("");
  if (name.empty()) name = context.sample.value_or("");
  if (name.empty()) name = context.task_id.value_or("");
  if (context.attempt.value_or(1) > 1) name += " (attempt " + std::to_string(*context.attempt) + ")";
  return name;
}

/// Its step, and what tells it from others of it. Empty: it says of no step, task or sample.
inline std::string task_name(const Context& context) {
  const std::string step = context.step.value_or("");
  const std::string own = own_task_name(context);
  // Engines put the step's name into the task's.
  if (step.empty() || own.empty() || own.starts_with(step)) return own.empty() ? step : own;
  return step + " " + own;
}

}  // namespace tracer::internal
