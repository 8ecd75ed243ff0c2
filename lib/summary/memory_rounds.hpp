// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include <tracer/sample.hpp>

#include "correlate/held_memory.hpp"

namespace tracer::internal {

/// The most that living processes held together at one snapshot, in all and by step. A snapshot in which it is not
/// known of one of them does not count.
class MemoryRounds {
 public:
  template <class Sample>
  void add(const Sample& sample, const Context& context) {
    if (time_ns_ != sample.time_ns) begin_round(sample.time_ns);
    total_.now.add(sample);
    if (context.step) steps_[*context.step].now.add(sample);
  }
  /// 0: none counted.
  std::uint64_t peak_bytes() const { return total_.peak(); }
  std::uint64_t peak_bytes(const std::string& step) const {
    const auto at = steps_.find(step);
    return at == steps_.end() ? 0 : at->second.peak();
  }

 private:
  struct Sum {
    HeldMemory now;
    std::uint64_t peak_bytes = 0;
    std::uint64_t peak() const { return std::max(peak_bytes, now.bytes().value_or(0)); }
    void begin_round() {
      peak_bytes = peak();
      now = {};
    }
  };
  /// All samples of one snapshot carry the same time.
  void begin_round(std::uint64_t time_ns) {
    time_ns_ = time_ns;
    total_.begin_round();
    for (auto& [step, sum] : steps_) sum.begin_round();
  }

  std::uint64_t time_ns_ = 0;
  Sum total_;
  std::map<std::string, Sum> steps_;
};

}  // namespace tracer::internal
