// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <tracer/ledger.hpp>

#include "insight/chain.hpp"

namespace tracer::internal {

/// Where the other ends are of the pipes that a process waited for.
enum class PipePeers : std::uint8_t {
  kInside,   ///< In the same task.
  kOutside,  ///< In part, at least.
  kUnknown,  ///< Nobody has written or read yet.
};

/// What one process did in a span of time.
struct LifeSpan {
  std::uint64_t from_ns = 0;
  std::uint64_t to_ns = 0;
  ProcessLedger ledger = {};  ///< Of this span.
  PipePeers pipe_peers = PipePeers::kUnknown;
};

/// What several processes did together in a span of time, as the kernel counted it.
struct CountedSpan {
  ProcessLedger ledger = {};
  std::uint64_t open_ns = 0;  ///< Of its life: none of them ran or could have, and it is not known why.
};

/// Where the wall time of several processes together went, found from what each of them did in spans of time. Spans are
/// gathered in windows that none of them crosses; the shorter a window, the closer the bounds. Where the kernel counts
/// what they do together, that is taken.
class WallLedger {
 public:
  WallLedger(std::uint64_t begin_ns, std::uint32_t cpus) : from_ns_(begin_ns), cpus_(cpus), window_cpus_(cpus) {}

  /// So many from now on. Of a window, the most that it had count.
  void has_cpus(std::uint32_t cpus) noexcept {
    cpus_ = cpus;
    window_cpus_ = std::max(window_cpus_, cpus);
  }

  /// In the order of their ends, as far as possible.
  void add(const LifeSpan& span);
  /// What a poll was for, when it has ended.
  enum class PollCause : std::uint8_t { kLocalSocket, kOutsidePipe };
  /// Of the polls in a span that ended at `at_ns` and was added before, so much was no poll, but this.
  void poll_was(PollCause cause, std::uint64_t at_ns, std::uint64_t part_ns) noexcept;
  /// From then on the kernel counts.
  void count_from(std::uint64_t since_ns) noexcept { counted_from_ns_ = since_ns; }
  /// What it counted since then, or since the last time. Before each close().
  void count(const CountedSpan& span);
  /// It did not count one of them for as long, at most.
  void missed(std::uint64_t most_ns) noexcept { missed_ns_ += most_ns; }
  void count_no_more() noexcept;
  /// All that lives has told what it did up to here.
  void close(std::uint64_t to_ns);
  /// Up to the last close().
  /// Of one that is over: closes it, and frees the memory that only further spans need.
  void release(std::uint64_t to_ns) {
    close(to_ns);
    one_after_another_.release();
    lived_.release();
  }
  const TaskLedger& ledger() const noexcept { return sums_; }
  std::uint64_t closed_ns() const noexcept { return from_ns_; }
  /// It began at `begin_ns`, and ends at `end_ns`: what does not fit to that is made to.
  TaskLedger until(std::uint64_t begin_ns, std::uint64_t end_ns) const;

 private:
  /// What a process may wait for besides others of its task, the queue included.
  static constexpr std::size_t kCauses = 13;
  using Causes = std::array<double, kCauses>;

  void share_out(std::uint64_t rest_ns);
  double share_counted(double rest, Causes& room, Causes& shares) const;

  TaskLedger sums_;
  std::uint64_t from_ns_;  ///< Of the window.
  std::uint32_t cpus_;
  std::uint32_t window_cpus_;
  std::uint64_t running_ns_ = 0;  ///< Of the window, as all below.
  Chain one_after_another_;
  Chain lived_;
  Causes waited_{};
  Causes weights_{};
  CountedSpan counted_;
  std::uint64_t missed_ns_ = 0;
  double poll_given_ = 0;  ///< Of the polls in the last window that had any: the part of them that the sums got.
  std::optional<std::uint64_t> counted_from_ns_ = {};  ///< Absent: nothing is counted.
  std::uint64_t run_on_ns_ = 0;  ///< Counted as run time before the last close(), and more than fitted in there.
};

}  // namespace tracer::internal
