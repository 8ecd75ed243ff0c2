// SPDX-License-Identifier: Apache-2.0
/// The keys of runs and tasks; docs/contexts.md says what they are made of.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include <tracer/context.hpp>

namespace tracer::internal {

/// Where ids come from that are unique on one host or in one session only.
struct KeyOrigin {
  std::string boot_id = {};
  std::string session_id = {};
};

/// Sets `run_key` by what the context says of its run; absent: there is none. `said_by`: the user who gave the names
/// and ids by a service; absent: they come from the host or from the session's own owner.
void set_run_key(Context& context, const KeyOrigin& origin, std::optional<uid_t> said_by = {});
/// Sets `task_key`, for which `run_key` is set; absent: it is in no task.
void set_task_key(Context& context, const KeyOrigin& origin, std::optional<uid_t> said_by = {});

}  // namespace tracer::internal
