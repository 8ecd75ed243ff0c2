// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>

#include <tracer/event.hpp>

#include "base/counter.hpp"
#include "correlate/filter_evaluator.hpp"

namespace tracer::internal {

/// Applies a whole filter to events that were correlated before. One thread at a time, but for the counter.
class ReplayFilter {
 public:
  /// `max_processes`: remembered at one time.
  ReplayFilter(FilterEvaluator filter, std::size_t max_processes)
      : filter_(std::move(filter)), max_processes_(max_processes) {}

  /// The event, with the labels of the rule that took its process in; absent: it is filtered out.
  std::optional<Event> apply(Event event);
  /// Processes that were forgotten since too many seemed alive: a descendant may be missing after that.
  std::uint64_t forgotten() const noexcept { return forgotten_.value(); }

 private:
  struct Entry {
    std::uint64_t start_ns = 0;
    FilterEvaluator::Decision decision;
  };
  template <class E>
  std::optional<Event> apply_to_process(const E& event, const Event& handle);
  Entry& entry_of(const Process& process);

  FilterEvaluator filter_;
  std::size_t max_processes_;
  std::unordered_map<std::uint32_t, Entry> processes_;  ///< By pid.
  Counter forgotten_;
};

}  // namespace tracer::internal
