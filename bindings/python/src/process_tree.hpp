// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include <tracer/event.hpp>

#include "base/process_id.hpp"

namespace tracer::python {

/// Which events are about a command and what came of it: a copy of the caller, until its first exec, is no part of it.
/// In a session that follows others as well, by descent.
class ProcessTree {
 public:
  /// `since_ns`: of the boot clock, before it was forked. `whole`: the session follows nothing else.
  ProcessTree(pid_t pid, std::uint64_t since_ns, bool whole)
      : pid_(static_cast<std::uint32_t>(pid)), since_ns_(since_ns), whole_(whole) {}

  bool takes(const Event& event);
  /// The command itself has ended: of an event that it takes.
  bool is_end(const Event& event);

 private:
  bool holds(const Process& process);
  bool is_root(const Process& process);

  std::uint32_t pid_;
  std::uint64_t since_ns_;
  std::optional<std::uint64_t> start_ns_;  ///< Of the command; a later process may get the same pid.
  bool whole_;
  bool executed_ = false;
  std::set<internal::ProcessId> living_;
  std::set<Key> runs_;  ///< That its processes began in.
};

}  // namespace tracer::python
