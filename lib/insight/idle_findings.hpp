// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <tracer/event.hpp>

#include "insight/detector.hpp"
#include "insight/works.hpp"

namespace tracer::internal {

/// Findings about tasks, and runs without tasks, that spend most of their time waiting for one of their processes,
/// which only sleeps or waits for a lock. Bounded: as Works.
class IdleFindings : public Detector {
 public:
  explicit IdleFindings(FindingBook& book);

  void run_began(const RunStart& start) override { began(*start.context, true, start.pid, start.start_ns); }
  void task_began(const TaskStart& start) override { began(*start.context, false, start.pid, start.start_ns); }
  void process_lived(const ProcessSpan& span, std::vector<Event>& events) override;
  void scope_lives(const ScopeFigures& figures, std::uint64_t time_ns, std::vector<Event>& events) override {
    look(figures, time_ns, events);
  }
  void scope_ended(const ScopeEnd& end, std::vector<Event>& events) override;

 private:
  /// The one that waited longest, and was no leader.
  struct Idle {
    std::shared_ptr<const Process> process = {};
    std::uint64_t sleep_ns = 0;
    std::uint64_t lock_ns = 0;

    std::uint64_t wait_ns() const noexcept { return sleep_ns + lock_ns; }
  };
  struct Work {
    std::uint32_t leader_pid = 0;
    std::uint64_t leader_start_ns = 0;
    std::shared_ptr<const Process> leader = {};
    Idle idle = {};
  };

  void began(const Context& context, bool is_run, std::uint32_t pid, std::uint64_t start_ns);
  bool is_idle(const ProcessSpan& span) const;
  bool is_normal(const Process* process) const;
  void look(const ScopeFigures& figures, std::uint64_t time_ns, std::vector<Event>& events);

  FindingBook& book_;
  std::uint64_t least_wall_ns_;
  std::uint64_t least_wait_ns_;
  std::uint64_t least_percent_;
  std::uint64_t most_cpu_percent_;
  std::uint64_t most_bytes_per_s_;
  std::uint64_t most_waits_per_minute_;
  Works<Work> works_;
};

}  // namespace tracer::internal
