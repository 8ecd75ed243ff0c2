// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

#include "base/process_id.hpp"
#include "stream/column_frame.hpp"
#include "stream/event_rows.hpp"

namespace tracer::internal {

/// The processes of the last snapshot that have not ended since, by its samples.
class LivingProcesses {
 public:
  /// Returns how many samples were refused, as there are too many.
  std::size_t read(const ColumnFrame& frame);
  /// Their samples, in the order of the snapshot; none are left.
  std::vector<Event> take();
  /// Of the frame that the last snapshot ended in.
  const ClockUpdate& clock() const noexcept { return clock_; }

 private:
  std::size_t add_samples(const ColumnFrame& frame);
  void remove_ended(const ColumnFrame& frame);

  std::uint64_t time_ns_ = 0;
  ClockUpdate clock_;
  std::vector<Event> samples_;  ///< Empty for those that ended.
  std::unordered_map<ProcessId, std::size_t, ProcessIdHash> place_of_;
  std::size_t charged_bytes_ = 0;
  EventRows rows_;
};

}  // namespace tracer::internal
