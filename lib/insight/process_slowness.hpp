// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <tracer/event.hpp>

#include "insight/detector.hpp"

namespace tracer::internal {

/// Findings about what slows down one process of a run or task: threads that wait for each other, data in tiny pieces,
/// a connection that became slow. Bounded: by what lives.
class ProcessSlowness : public Detector {
 public:
  explicit ProcessSlowness(FindingBook& book);

  void process_lived(const ProcessSpan& span, std::vector<Event>& events) override;

 private:
  /// Of what came through the network, in windows.
  struct Rate {
    std::uint64_t start_ns = 0;  ///< Of the process.
    std::uint64_t from_ns = 0;
    std::uint64_t bytes = 0;
    std::uint64_t wait_ns = 0;
    std::uint64_t best_bytes_per_s = 0;
  };
  struct LockLimits {
    std::uint64_t least_life_ns, least_threads, least_percent, least_running_percent, most_parallel_percent,
        least_switches_per_s;
  };
  struct PieceLimits {
    std::uint64_t least_calls, most_bytes_per_call, least_cpu_ns, least_percent;
  };
  struct RateLimits {
    std::uint64_t window_ns, least_best_bytes_per_s, most_percent, least_wait_percent;
  };

  void look_at_locks(const ProcessSpan& span, std::vector<Event>& events);
  void look_at_pieces(const ProcessSpan& span, std::vector<Event>& events);
  void look_at_network(const ProcessSpan& span, std::vector<Event>& events);
  void decide(FindingDraft& draft, const ProcessSpan& span, bool holds, std::vector<Event>& events);

  FindingBook& book_;
  LockLimits locks_;
  PieceLimits pieces_;
  RateLimits rates_limits_;
  std::unordered_map<std::uint32_t, Rate> rates_;  ///< By pid, of those that used the network.
};

}  // namespace tracer::internal
