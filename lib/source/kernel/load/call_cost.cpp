// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/load/call_cost.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>

namespace tracer::internal {

double shortest_call_ns() {
  // So short that one of them passes without an interruption.
  constexpr int kRounds = 100;
  constexpr int kCalls = 500;
  double shortest = std::numeric_limits<double>::max();
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int call = 0; call < kCalls; ++call) ::syscall(SYS_getppid);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    shortest = std::min(shortest, took.count() / kCalls);
  }
  return shortest;
}

}  // namespace tracer::internal
