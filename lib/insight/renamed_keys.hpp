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

/// What `map` has under one key is under another from now on. What is there already stays; returns the one that was to
/// take its place, else nothing.
template <class Map>
typename Map::node_type move_key(Map& map, std::uint64_t from, std::uint64_t to) {
  auto node = map.extract(from);
  if (node.empty()) return node;
  node.key() = to;
  return std::move(map.insert(std::move(node)).node);
}

}  // namespace tracer::internal
