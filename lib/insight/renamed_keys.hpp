// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include <tracer/event.hpp>

namespace tracer::internal {

/// Calls `rename(from, to)` for each task and run that has another key because more of it became known.
template <class Rename>
void for_each_new_key(const ContextChange& change, const Rename& rename) {
  if (change.pid) return;
  for (const auto& [from, to] :
       {std::pair(change.old_task_key, change.after->task_key), std::pair(change.old_run_key, change.after->run_key)})
    if (from && to && *from != *to) rename(static_cast<std::uint64_t>(*from), static_cast<std::uint64_t>(*to));
}

}  // namespace tracer::internal
