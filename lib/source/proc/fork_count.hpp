// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

#include "base/counter.hpp"
#include "base/proc_stat.hpp"
#include "source/proc/proc_files.hpp"

namespace tracer::internal {

/// How many processes nobody can have seen, at most: the machine's own count of forks, threads included, less those
/// that were seen. What other users fork is in it, too, as the kernel does not count by user.
class ForkCount {
 public:
  /// Counts from here. False: this /proc does not say.
  bool start(const ProcFiles& files);
  /// One thread. A process is seen for the first time, with the threads that it has.
  void saw(const ProcStat& stat) noexcept {
    if (stat.started_from_ns >= since_ns_) saw_threads(std::max<std::uint64_t>(stat.threads, 1));
  }
  /// One thread. So many more threads live in a process than at any look before.
  void saw_threads(std::uint64_t more) noexcept {
    if (last_.load() == kUnknown) seen_.add(more);
  }
  /// What is forked from now on does not count.
  void stop(const ProcFiles& files) noexcept;
  /// Any thread. Absent before start().
  std::optional<std::uint64_t> missed_at_most(const ProcFiles& files) const;

 private:
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

  std::uint64_t since_ns_ = 0;
  std::atomic<std::uint64_t> first_{kUnknown};
  std::atomic<std::uint64_t> last_{kUnknown};
  Counter seen_;  ///< Of those that the count has.
};

}  // namespace tracer::internal
