// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <tracer/event.hpp>

#include "insight/failure_findings.hpp"
#include "insight/finding_book.hpp"
#include "insight/task_ledgers.hpp"

namespace tracer::internal {

/// Completes events of tasks and runs with what follows from others, and makes findings. The same for events that come
/// live and for those of a recording. One thread at a time.
class Insight {
 public:
  /// Of a host with so many CPUs.
  explicit Insight(std::uint32_t cpus, const FindingRules& rules = FindingRules::builtin())
      : book_(rules), ledgers_(cpus), failures_(book_) {}
  Insight(const Insight&) = delete;
  Insight& operator=(const Insight&) = delete;

  /// Appends `event`, and the findings that follow from it: before it if it is the last.
  void add(Event event, std::vector<Event>& events);
  /// Findings that were left out, as too many were open.
  std::uint64_t unsaid() const noexcept { return book_.unsaid(); }

 private:
  void add_task(const TaskFinish& given, std::vector<Event>& events);
  void add_run(const RunFinish& given, std::vector<Event>& events);

  FindingBook book_;
  TaskLedgers ledgers_;
  FailureFindings failures_;
};

}  // namespace tracer::internal
