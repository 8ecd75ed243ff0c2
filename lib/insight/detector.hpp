// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <tracer/event.hpp>

#include "insight/scope_figures.hpp"
#include "state/process_spans.hpp"

namespace tracer::internal {

/// Finds what is wrong in a stream of events, and appends what it finds. It is called for what it overrides; each event
/// is in the stream by then, but for that of a session's end. What it keeps of runs and tasks is in Works, which has no
/// row of what is over or known to be another.
class Detector {
 public:
  Detector() = default;
  Detector(const Detector&) = delete;
  Detector& operator=(const Detector&) = delete;
  virtual ~Detector() = default;

  virtual void run_began(const RunStart&) {}
  virtual void task_began(const TaskStart&) {}
  virtual void task_submitted(const TaskSubmit&) {}
  /// With the context that it has from now on.
  virtual void changed(const ContextChange&) {}
  /// It began, or executed another program.
  virtual void process_began(const std::shared_ptr<const Process>&, std::uint64_t /*time_ns*/) {}
  /// Before its last span.
  virtual void process_ended(const ProcessExit&, std::vector<Event>&) {}
  virtual void process_lived(const ProcessSpan&, std::vector<Event>&) {}
  virtual void process_sampled(const ProcessSample&) {}
  virtual void process_killed(const OomKill&) {}
  virtual void file_used(const FileUse&) {}
  virtual void cgroup_sampled(const CgroupSample&) {}
  /// `heaviest`: the process that it names; null: not known.
  virtual void device_sampled(const DeviceSample&, const std::shared_ptr<const Process>& /*heaviest*/) {}
  /// All that lives was sampled.
  virtual void snapshot_ended(const SnapshotEnd&, std::vector<Event>&) {}
  /// Behind that: of each run and task that has begun and is not over.
  virtual void scope_lives(const ScopeFigures&, std::uint64_t /*time_ns*/, std::vector<Event>&) {}
  virtual void scope_ended(const ScopeEnd&, std::vector<Event>&) {}
  virtual void session_ends(std::uint64_t /*time_ns*/, std::vector<Event>&) {}
};

}  // namespace tracer::internal
