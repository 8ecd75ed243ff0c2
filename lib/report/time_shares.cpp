// SPDX-License-Identifier: Apache-2.0
#include "report/time_shares.hpp"

#include <algorithm>
#include <array>

#include "base/certain_waits.hpp"

namespace tracer {
namespace {

struct Cause {
  TimeCause cause;
  std::string_view name;
};

/// Bounds that are closer together than this part of the time are taken for one figure.
constexpr double kClose = 0.05;

constexpr std::array<Cause, 15> kCauses = {{{TimeCause::kCpu, "CPU"},
                                            {TimeCause::kRunQueue, "run queue"},
                                            {TimeCause::kThrottled, "CPU limit"},
                                            {TimeCause::kDisk, "disk"},
                                            {TimeCause::kPipe, "pipe"},
                                            {TimeCause::kNetwork, "network"},
                                            {TimeCause::kLocalSocket, "local socket"},
                                            {TimeCause::kLock, "lock"},
                                            {TimeCause::kChild, "child"},
                                            {TimeCause::kSleep, "sleep"},
                                            {TimeCause::kEvents, "events"},
                                            {TimeCause::kMemory, "memory"},
                                            {TimeCause::kStopped, "stopped"},
                                            {TimeCause::kOther, "other"},
                                            {TimeCause::kUnclear, "CPU or wait"}}};

std::uint64_t running_ns(const Ledger& ledger) { return ledger.cpu_ns; }
std::uint64_t running_ns(const ProcessLedger& ledger) { return ledger.running_ns; }

template <class L>
std::uint64_t time_ns(const L& ledger, TimeCause cause) {
  switch (cause) {
    case TimeCause::kCpu: return running_ns(ledger);
    case TimeCause::kRunQueue: return ledger.run_queue_ns;
    case TimeCause::kThrottled: return ledger.throttled_ns.value_or(0);
    case TimeCause::kDisk: return ledger.disk_ns;
    case TimeCause::kPipe: return ledger.pipe_ns;
    case TimeCause::kNetwork: return ledger.network_ns;
    case TimeCause::kLocalSocket: return ledger.local_socket_ns;
    case TimeCause::kLock: return ledger.lock_ns;
    case TimeCause::kChild: return ledger.child_ns;
    case TimeCause::kSleep: return ledger.sleep_ns;
    case TimeCause::kEvents: return ledger.poll_ns;
    case TimeCause::kMemory: return ledger.reclaim_ns + ledger.swap_ns;
    case TimeCause::kStopped: return ledger.stopped_ns;
    case TimeCause::kUnclear: return 0;
    case TimeCause::kOther: break;
  }
  return ledger.other_ns;
}

std::uint64_t time_ns(const TaskLedger& ledger, TimeCause cause) {
  switch (cause) {
    case TimeCause::kCpu: return ledger.computing_ns;
    case TimeCause::kRunQueue: return ledger.queued_ns;
    case TimeCause::kThrottled: return ledger.throttled_ns;
    case TimeCause::kDisk: return ledger.disk_ns;
    case TimeCause::kPipe: return ledger.pipe_ns;
    case TimeCause::kNetwork: return ledger.network_ns;
    case TimeCause::kLocalSocket: return ledger.local_socket_ns;
    case TimeCause::kLock: return ledger.lock_ns;
    case TimeCause::kChild: return 0;
    case TimeCause::kSleep: return ledger.sleep_ns;
    case TimeCause::kEvents: return ledger.poll_ns;
    case TimeCause::kMemory: return ledger.memory_ns;
    case TimeCause::kStopped: return ledger.stopped_ns;
    case TimeCause::kUnclear: return 0;
    case TimeCause::kOther: break;
  }
  return ledger.other_ns;
}

template <class L>
std::vector<TimeShare> shares_of(const L& ledger) {
  std::vector<TimeShare> shares;
  std::uint64_t sum = 0;
  for (const auto& [cause, name] : kCauses) {
    const std::uint64_t spent_ns = time_ns(ledger, cause);
    if (spent_ns != 0) shares.push_back({cause, spent_ns, 0});
    sum += spent_ns;
  }
  for (TimeShare& each : shares) each.share = static_cast<double>(each.time_ns) / static_cast<double>(sum);
  std::stable_sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.time_ns > b.time_ns; });
  return shares;
}

}  // namespace

std::string_view to_string(TimeCause cause) noexcept {
  const auto* known =
      std::find_if(kCauses.begin(), kCauses.end(), [cause](const Cause& each) { return each.cause == cause; });
  return known == kCauses.end() ? std::string_view{} : known->name;
}

namespace internal {

std::vector<TimeShare> time_shares(const std::optional<ProcessLedger>& processes,
                                   const std::optional<Ledger>& threads) {
  if (processes) return shares_of(*processes);
  if (threads) return shares_of(*threads);
  return {};
}

/// What may have been computing, is not taken for a wait: the waits have in parts what is left.
std::vector<TimeShare> time_shares(const TaskLedger& ledger) {
  std::vector<TimeShare> shares = shares_of(ledger);
  const auto wall = static_cast<double>(ledger.wall_ns);
  if (unclear_ns(ledger) == 0 || static_cast<double>(unclear_ns(ledger)) < kClose * wall) return shares;
  std::uint64_t left_ns = ledger.wall_ns;
  for (TimeShare& each : shares) {
    if (each.cause != TimeCause::kCpu) each.time_ns = certain_ns(ledger, each.time_ns);
    left_ns -= std::min(left_ns, each.time_ns);
  }
  shares.push_back({TimeCause::kUnclear, left_ns, 0});
  std::erase_if(shares, [](const TimeShare& each) { return each.time_ns == 0; });
  for (TimeShare& each : shares) each.share = static_cast<double>(each.time_ns) / wall;
  std::stable_sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.time_ns > b.time_ns; });
  return shares;
}

}  // namespace internal
}  // namespace tracer
