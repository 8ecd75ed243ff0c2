// SPDX-License-Identifier: Apache-2.0
/// Statistics of a session: its work, its losses, and the totals that losses can't change.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tracer/context.hpp>
#include <tracer/event.hpp>

namespace tracer {

/// The cost of the session itself.
struct OwnCost {
  std::uint64_t cpu_ns = 0;            ///< Reading, decoding, snapshots, callbacks; and the threads of sinks.
  std::uint64_t snapshots_cpu_ns = 0;  ///< The part of cpu_ns for snapshots.
  /// Time of its programs in the kernel; absent while kernel.bpf_stats_enabled is 0, unless max_cost_share was given
  /// and the caller has CAP_SYS_ADMIN.
  std::optional<std::uint64_t> kernel_ns;
  std::optional<std::uint64_t> memory_bytes;         ///< Resident now, for the whole process that the session is in.
  std::optional<std::uint64_t> kernel_memory_bytes;  ///< Memory of its maps. Absent for sources other than the kernel.
};

/// Counted since the session started. Each loss is counted once, under one cause; docs/losses.md defines them.
struct Statistics {
  std::uint64_t records = 0;  ///< Wire records received from the kernel.
  std::uint64_t record_bytes = 0;
  std::uint64_t events = 0;           ///< Events dispatched.
  std::uint64_t callback_errors = 0;  ///< Callbacks that threw; other subscribers lost no event.
  std::uint64_t secrets_masked = 0;
  std::uint64_t announcements_met = 0;      ///< Announcements that matched a process.
  std::uint64_t announcements_expired = 0;  ///< Those that expired before.
  std::uint64_t announcements_refused = 0;  ///< Those beyond max_announcements.
  OwnCost cost;
  std::map<std::string, std::uint64_t> losses;  ///< By cause; only those that occurred.
  std::optional<std::uint64_t> missed_at_most;  ///< As in SessionEnd, so far.

  std::uint64_t lost() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& [cause, count] : losses) sum += count;
    return sum;
  }
};

/// Sums of all processes of one context that have ended, added up in the kernel. account.read_bytes excludes bytes read
/// before each process's last exec, because they include exec's own reads; it is absent if those are more than exec
/// itself can have read, and read_at_most_bytes is then an upper bound.
struct ContextTotals {
  Context context;
  /// How many contexts are in these sums. More than 1: `context` is empty, and these are the contexts that no process
  /// has anymore and whose room was needed for others.
  std::uint64_t contexts = 1;
  std::uint64_t living = 0;  ///< Begun or taken in, and not ended yet.
  std::uint64_t ended = 0;
  std::uint64_t failed = 0;
  Account account;  ///< No peak: a sum of peaks means nothing.
};

}  // namespace tracer
