// SPDX-License-Identifier: Apache-2.0
#include "summary/time_shares.hpp"

#include <algorithm>
#include <array>

namespace tracer {
namespace {

struct Cause {
  TimeCause cause;
  std::string_view name;
  std::uint64_t (*time_ns)(const Ledger& ledger);
};

template <std::uint64_t Ledger::*Member>
std::uint64_t of(const Ledger& ledger) {
  return ledger.*Member;
}

constexpr std::array<Cause, 13> kCauses = {
    {{TimeCause::kCpu, "CPU", of<&Ledger::cpu_ns>},
     {TimeCause::kRunQueue, "run queue", of<&Ledger::run_queue_ns>},
     {TimeCause::kThrottled, "CPU limit", [](const Ledger& ledger) { return ledger.throttled_ns.value_or(0); }},
     {TimeCause::kDisk, "disk", of<&Ledger::disk_ns>},
     {TimeCause::kPipe, "pipe", of<&Ledger::pipe_ns>},
     {TimeCause::kNetwork, "network", of<&Ledger::socket_ns>},
     {TimeCause::kLock, "lock", of<&Ledger::lock_ns>},
     {TimeCause::kChild, "child", of<&Ledger::child_ns>},
     {TimeCause::kSleep, "sleep", of<&Ledger::sleep_ns>},
     {TimeCause::kEvents, "events", of<&Ledger::poll_ns>},
     {TimeCause::kMemory, "memory", [](const Ledger& ledger) { return ledger.reclaim_ns + ledger.swap_ns; }},
     {TimeCause::kStopped, "stopped", of<&Ledger::stopped_ns>},
     {TimeCause::kOther, "other", of<&Ledger::other_ns>}}};

}  // namespace

std::string_view to_string(TimeCause cause) noexcept {
  const auto* known =
      std::find_if(kCauses.begin(), kCauses.end(), [cause](const Cause& each) { return each.cause == cause; });
  return known == kCauses.end() ? std::string_view{} : known->name;
}

namespace internal {

std::vector<TimeShare> time_shares(const std::optional<Ledger>& ledger) {
  if (!ledger) return {};
  std::vector<TimeShare> shares;
  std::uint64_t sum = 0;
  for (const Cause& cause : kCauses) {
    const std::uint64_t time_ns = cause.time_ns(*ledger);
    if (time_ns != 0) shares.push_back({cause.cause, time_ns, 0});
    sum += time_ns;
  }
  for (TimeShare& each : shares) each.share = static_cast<double>(each.time_ns) / static_cast<double>(sum);
  std::stable_sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.time_ns > b.time_ns; });
  return shares;
}

}  // namespace internal
}  // namespace tracer
