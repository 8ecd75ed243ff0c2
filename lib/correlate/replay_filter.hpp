// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>

#include <tracer/event.hpp>

#include "correlate/filter_evaluator.hpp"

namespace tracer {

/// Applies a whole filter to events that were correlated before.
class ReplayFilter {
 public:
  explicit ReplayFilter(FilterEvaluator filter) : filter_(std::move(filter)) {}
  bool keeps(const Event& event);

 private:
  struct Entry {
    std::uint64_t start_ns = 0;
    Selection selection = Selection::kSelected;
  };
  FilterEvaluator filter_;
  std::unordered_map<std::uint32_t, Entry> processes_;
};

}  // namespace tracer
