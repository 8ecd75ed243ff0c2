// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <tracer/context.hpp>

#include "base/key_hash.hpp"

namespace tracer::internal {

/// The same for all attempts of one task of a run, whose ids may differ. A run may hold tasks of several users. A task
/// without a name and an id has its key.
inline std::uint64_t attempts_hash(const Context& task) {
  const bool is_named = task.task || task.task_id;
  return static_cast<std::uint64_t>(KeyHash()
                                        .add(std::to_string(task.owner_uid.value_or(0)))
                                        .add_known(task.step)
                                        .add(task.task.value_or(task.task_id.value_or("")))
                                        .add(is_named || !task.task_key ? std::string() : to_string(*task.task_key))
                                        .key());
}

}  // namespace tracer::internal
