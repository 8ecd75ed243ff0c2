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

/// Sets `run_key` by what the context says of its run; absent: there is none. `owner`: whose it is, in a session that
/// serves several users; absent: nobody's, or the session is its user's own.
void set_run_key(Context& context, const KeyOrigin& origin, std::optional<uid_t> owner = {});
/// Sets `task_key`, for which `run_key` is set; absent: it is in no task.
void set_task_key(Context& context, const KeyOrigin& origin, std::optional<uid_t> owner = {});

}  // namespace tracer::internal
