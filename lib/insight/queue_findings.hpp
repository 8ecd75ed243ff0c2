// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "insight/detector.hpp"
#include "insight/finding_book.hpp"
#include "insight/works.hpp"

namespace tracer::internal {

/// Finds tasks that waited in a queue for longer than they ran.
class QueueFindings : public Detector {
 public:
  explicit QueueFindings(FindingBook& book) : book_(book), queued_ns_(book) {}

  void task_submitted(const TaskSubmit& submit) override;
  void scope_ended(const ScopeEnd& end, std::vector<Event>& events) override;

 private:
  FindingBook& book_;
  Works<std::uint64_t> queued_ns_;  ///< Of tasks that have started.
};

}  // namespace tracer::internal
