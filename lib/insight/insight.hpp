// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

#include "insight/failure_findings.hpp"
#include "insight/finding_book.hpp"
#include "insight/not_normal.hpp"
#include "insight/task_ledgers.hpp"

namespace tracer::internal {

/// Completes events of tasks and runs with what follows from others, and makes findings. The same for events that come
/// live and for those of a recording. One thread at a time.
class Insight {
 public:
  /// Of a host with so many CPUs.
  explicit Insight(std::uint32_t cpus, const FindingRules& rules = FindingRules::builtin())
      : cpus_(cpus), book_(rules), ledgers_(cpus), failures_(book_) {}
  Insight(const Insight&) = delete;
  Insight& operator=(const Insight&) = delete;

  /// Before the first event: compares with earlier runs, and adds this one. `wall_offset_ns`: as in HostInfo.
  void use(std::unique_ptr<SessionHistory> history, std::uint64_t wall_offset_ns) {
    not_normal_ = std::make_unique<NotNormal>(book_, std::move(history), cpus_, wall_offset_ns);
  }
  /// Appends `event`, and the findings that follow from it: before it if it is the last.
  void add(Event event, std::vector<Event>& events);
  /// Findings that were left out, as too many were open.
  std::uint64_t unsaid() const noexcept { return book_.unsaid(); }

 private:
  void add_task(const TaskFinish& given, std::vector<Event>& events);
  void add_run(const RunFinish& given, std::vector<Event>& events);

  void compare(const Event& event, std::vector<Event>& events);

  std::uint32_t cpus_;
  FindingBook book_;
  TaskLedgers ledgers_;
  FailureFindings failures_;
  std::unique_ptr<NotNormal> not_normal_;  ///< Null: without a history.
};

}  // namespace tracer::internal
