// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <tracer/context.hpp>

namespace tracer::internal {

/// Of the task that a context names, else of its run. Absent: it names neither.
inline const std::optional<Key>& innermost_key(const Context& context) noexcept {
  return context.task_key ? context.task_key : context.run_key;
}

}  // namespace tracer::internal
