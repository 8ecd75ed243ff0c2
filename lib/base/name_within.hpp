// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <tracer/context.hpp>

namespace tracer::internal {

/// A task, as Context::within of the runs in it names it.
inline std::string name_within(const Context& task) {
  return task.run_id.value_or(task.run.value_or("")) + "/" +
         task.task_id.value_or(task.task.value_or(task.step.value_or("")));
}

}  // namespace tracer::internal
