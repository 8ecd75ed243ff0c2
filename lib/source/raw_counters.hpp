// SPDX-License-Identifier: Apache-2.0
/// Counters as a source reads them: they only grow. What is made of them is in correlate/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tracer::internal {

/// Of this machine's pages.
std::uint64_t bytes_of_pages(std::uint64_t pages) noexcept;

/// Own counters of a thread, a process or a context; never those of children.
struct RawCounts {
  std::uint64_t cpu_ns = 0;
  std::uint64_t user_sampled_ns = 0;
  std::uint64_t system_sampled_ns = 0;
  std::uint64_t run_queue_ns = 0;
  std::uint64_t minor_faults = 0;
  std::uint64_t major_faults = 0;
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
  std::uint64_t read_calls = 0;
  std::uint64_t write_calls = 0;
  std::uint64_t storage_read_bytes = 0;
  std::uint64_t storage_written_bytes = 0;
  std::uint64_t storage_cancelled_bytes = 0;

  bool operator==(const RawCounts&) const = default;
};

/// Parts of RawCounts, as bits.
enum AccountPart : std::uint8_t {
  kCpuPart = 1,
  kSplitPart = 2,  ///< User and system time.
  kRunQueuePart = 4,
  kFaultsPart = 8,
  kSwitchesPart = 16,
  kCallsPart = 32,    ///< read_bytes, written_bytes, and the calls.
  kStoragePart = 64,  ///< storage_…
};

/// Counters, and which of them mean nothing, as the source could not read them. An Account is made of the difference of
/// two.
struct RawAccount : RawCounts {
  std::uint8_t unknown_parts = 0;  ///< AccountPart.

  bool operator==(const RawAccount&) const = default;
};

/// What a thread waits for while it is off the CPU.
enum class WaitCause : std::uint8_t {
  kNone,  ///< It could run. In sums: what of that was not run-queue time.
  kDisk,
  kPipeRead,
  kPipeWrite,
  kNetwork,
  kLock,
  kChild,
  kSleep,
  kPoll,
  kReclaim,
  kSwap,
  kStopped,
  kOther,
  kThrottled,
  kLocalSocket,
};
inline constexpr std::size_t kWaitCauses = 15;

/// Where the wall time of threads went since they were followed. A Ledger is made of the difference of two.
struct RawWaits {
  std::uint64_t wall_ns = 0;
  std::uint64_t cpu_ns = 0;
  std::uint64_t run_queue_ns = 0;
  std::array<std::uint64_t, kWaitCauses> wait_ns{};  ///< By WaitCause: see `of`.
  std::uint32_t pipe_read_peer = 0;  ///< The process that ended most of these waits; 0: none, or not known.
  std::uint32_t pipe_write_peer = 0;
  std::uint32_t threads = 0;               ///< Summed up here; 0: nothing is known.
  std::uint32_t limits_known = 0;          ///< Not 0: of(kThrottled) is known.
  std::uint32_t local_socket_peer = 0;     ///< Of the process, as all below; 0: none is known to have ended one.
  std::uint32_t lock_peer = 0;             ///< Likewise.
  std::uint64_t local_socket_peer_ns = 0;  ///< Waits that it ended, at least.
  std::uint64_t lock_peer_ns = 0;

  std::uint64_t of(WaitCause cause) const noexcept { return wait_ns[static_cast<std::size_t>(cause)]; }
  std::uint64_t& of(WaitCause cause) noexcept { return wait_ns[static_cast<std::size_t>(cause)]; }
};

/// Where the life of a process went since it was followed: at each moment in one of these. A ProcessLedger is made of
/// the difference of two.
struct RawProcessWaits {
  std::uint64_t life_ns = 0;  ///< 0: nothing is known.
  std::uint64_t running_ns = 0;
  std::uint64_t run_queue_ns = 0;
  std::array<std::uint64_t, kWaitCauses> wait_ns{};  ///< By WaitCause.
  bool limits_known = false;                         ///< That of WaitCause::kThrottled is.

  std::uint64_t of(WaitCause cause) const noexcept { return wait_ns[static_cast<std::size_t>(cause)]; }
};

/// Of a process of one thread, whose waits these are.
RawProcessWaits waits_of_only_thread(const RawWaits& waits) noexcept;

/// The id of what was forgotten.
inline constexpr std::uint32_t kForgottenContexts = ~std::uint32_t{0};

/// Sums of all processes that have ended in a context, and how many still live in it.
struct RawTotals {
  std::uint32_t context_id = 0;
  std::uint64_t contexts = 1;  ///< How many it sums up.
  std::uint64_t living = 0;
  std::uint64_t ended = 0;
  std::uint64_t failed = 0;
  RawAccount account;
  std::uint64_t read_before_exec_bytes = 0;
  std::uint64_t doubtful_reads = 0;  ///< Processes of which exec's own reads can't be told from others.
  std::uint64_t lost_threads = 0;    ///< Processes of which threads had ended before they were tracked.
  std::uint64_t lost_sums = 0;       ///< Processes whose accounts are not known, and not in these.
};

/// The most that exec itself reads at one exec: headers, tables, the interpreter's. More was the program's own.
inline constexpr std::uint64_t kMostExecReadBytes = 8192;

/// a - b, field by field; 0 where b is larger, as a running thread's counters may be read in two steps. Known, as in a
/// sum, is what is known of both.
RawAccount difference(const RawAccount& a, const RawAccount& b) noexcept;
RawAccount sum_of(const RawAccount& a, const RawAccount& b) noexcept;
/// Likewise; nothing is known where nothing is known of a.
RawWaits difference(const RawWaits& a, const RawWaits& b) noexcept;
RawWaits sum_of(const RawWaits& a, const RawWaits& b) noexcept;
RawProcessWaits difference(const RawProcessWaits& a, const RawProcessWaits& b) noexcept;

}  // namespace tracer::internal
