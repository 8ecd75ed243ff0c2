// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include <tracer/sample.hpp>

#include "correlate/held_memory.hpp"

namespace tracer::internal {

struct MemoryPeak {
  std::uint64_t bytes = 0;  ///< 0: no snapshot counted.
  std::uint64_t unknown_snapshots = 0;
};

/// What living processes held together at the snapshots, in all and by task: those with the same labels. A snapshot in
/// which it is not known of one of them does not count.
class MemoryRounds {
 public:
  template <class Sample>
  void add(const Sample& sample, const Context& context) {
    if (time_ns_ != sample.time_ns) begin_round(sample.time_ns);
    total_.add(sample);
    if (context != Context{}) tasks_[context].add(sample);
  }
  MemoryPeak peak() const { return total_.with_this_round(); }
  MemoryPeak peak_of_task(const Context& task) const {
    const auto at = tasks_.find(task);
    return at == tasks_.end() ? MemoryPeak{} : at->second.with_this_round();
  }
  /// Of the largest task of that step.
  MemoryPeak peak_of_step(const std::string& step) const {
    MemoryPeak largest;
    for (const auto& [context, sum] : tasks_) {
      if (context.step != step) continue;
      const MemoryPeak peak = sum.with_this_round();
      largest.bytes = std::max(largest.bytes, peak.bytes);
      largest.unknown_snapshots = std::max(largest.unknown_snapshots, peak.unknown_snapshots);
    }
    return largest;
  }

 private:
  struct Sum {
    HeldMemory now;
    bool seen = false;  ///< In this round.
    MemoryPeak peak;

    template <class Sample>
    void add(const Sample& sample) {
      now.add(sample);
      seen = true;
    }
    MemoryPeak with_this_round() const {
      MemoryPeak all = peak;
      if (!seen) return all;
      const auto bytes = now.bytes();
      all.bytes = std::max(all.bytes, bytes.value_or(0));
      if (!bytes) ++all.unknown_snapshots;
      return all;
    }
    void begin_round() {
      peak = with_this_round();
      now = {};
      seen = false;
    }
  };
  /// All samples of one snapshot carry the same time.
  void begin_round(std::uint64_t time_ns) {
    time_ns_ = time_ns;
    total_.begin_round();
    for (auto& [context, sum] : tasks_) sum.begin_round();
  }

  std::uint64_t time_ns_ = 0;
  Sum total_;
  std::map<Context, Sum> tasks_;
};

}  // namespace tracer::internal
