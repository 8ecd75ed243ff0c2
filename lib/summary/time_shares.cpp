// SPDX-License-Identifier: Apache-2.0
#include "summary/time_shares.hpp"

#include <algorithm>
#include <array>

namespace tracer {
namespace {

using Member = std::optional<std::uint64_t> Ledger::*;

struct Cause {
  TimeCause cause;
  std::string_view name;
  Member first;
  Member second = nullptr;
};

constexpr std::array<Cause, 13> kCauses = {{{TimeCause::kCpu, "CPU", &Ledger::cpu_ns},
                                            {TimeCause::kRunQueue, "run queue", &Ledger::run_queue_ns},
                                            {TimeCause::kThrottled, "CPU limit", &Ledger::throttled_ns},
                                            {TimeCause::kDisk, "disk", &Ledger::disk_ns},
                                            {TimeCause::kPipe, "pipe", &Ledger::pipe_ns},
                                            {TimeCause::kNetwork, "network", &Ledger::socket_ns},
                                            {TimeCause::kLock, "lock", &Ledger::lock_ns},
                                            {TimeCause::kChild, "child", &Ledger::child_ns},
                                            {TimeCause::kSleep, "sleep", &Ledger::sleep_ns},
                                            {TimeCause::kEvents, "events", &Ledger::poll_ns},
                                            {TimeCause::kMemory, "memory", &Ledger::reclaim_ns, &Ledger::swap_ns},
                                            {TimeCause::kStopped, "stopped", &Ledger::stopped_ns},
                                            {TimeCause::kOther, "other", &Ledger::other_ns}}};

std::uint64_t time_of(const Ledger& ledger, const Cause& cause) {
  const std::uint64_t second = cause.second == nullptr ? 0 : (ledger.*cause.second).value_or(0);
  return (ledger.*cause.first).value_or(0) + second;
}

}  // namespace

std::string_view to_string(TimeCause cause) noexcept {
  const auto* known =
      std::find_if(kCauses.begin(), kCauses.end(), [cause](const Cause& each) { return each.cause == cause; });
  return known == kCauses.end() ? std::string_view{} : known->name;
}

namespace internal {

std::vector<TimeShare> time_shares(const Ledger& ledger) {
  std::vector<TimeShare> shares;
  std::uint64_t sum = 0;
  for (const Cause& cause : kCauses) {
    const std::uint64_t time_ns = time_of(ledger, cause);
    if (time_ns != 0) shares.push_back({cause.cause, time_ns, 0});
    sum += time_ns;
  }
  for (TimeShare& each : shares) each.share = static_cast<double>(each.time_ns) / static_cast<double>(sum);
  std::stable_sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.time_ns > b.time_ns; });
  return shares;
}

}  // namespace internal
}  // namespace tracer
