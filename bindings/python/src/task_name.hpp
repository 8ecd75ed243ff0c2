// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <tracer/context.hpp>

namespace tracer::python {

/// "ALIGN (S1)": its step, and what tells it from others of it. Empty: it says of no step, task or sample.
inline std::string task_name(const Context& context) {
  const std::string step = context.step.value_or("");
  const std::string own = context.task     ? *context.task
                          : context.sample ? *context.sample
                                           : context.task_id.value_or("");
  // Engines put the step's name into the task's.
  if (step.empty() || own.empty() || own.starts_with(step)) return own.empty() ? step : own;
  return step + " " + own;
}

}  // namespace tracer::python
