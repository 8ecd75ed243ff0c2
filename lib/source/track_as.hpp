// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tracer::internal {

/// What is known of a process that is named, besides its labels.
struct TrackAs {
  bool command = false;  ///< Its program is a run, as that of SessionOptions::command_pid.
  bool held = false;     ///< It waits, as a copy of its parent, for its command to be executed.

  explicit operator bool() const noexcept { return command || held; }
};

}  // namespace tracer::internal
