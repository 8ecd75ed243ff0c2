// SPDX-License-Identifier: Apache-2.0
#include "report/bound_by.hpp"

#include <algorithm>
#include <map>
#include <string_view>

namespace tracer::internal {
namespace {

/// What takes less of the time does not bound it.
constexpr double kBoundShare = 0.5;

std::string_view bound_of(TimeCause cause) {
  switch (cause) {
    case TimeCause::kCpu: return "compute";
    case TimeCause::kRunQueue: return "oversubscribed";
    case TimeCause::kThrottled: return "cpu_limit";
    case TimeCause::kDisk: return "disk";
    case TimeCause::kPipe:
    case TimeCause::kLocalSocket: return "pipe";
    case TimeCause::kNetwork: return "network";
    case TimeCause::kLock: return "lock";
    case TimeCause::kMemory: return "memory";
    case TimeCause::kChild:
    case TimeCause::kSleep:
    case TimeCause::kEvents:
    case TimeCause::kStopped: return "idle";
    case TimeCause::kUnclear: return "unclear";
    case TimeCause::kOther: break;
  }
  return "other";
}

}  // namespace

void set_bound(ReportRow& row) {
  row.bound_by.clear();
  row.bound_share.reset();
  if (row.time.empty()) return;
  std::map<std::string_view, double> shares;
  for (const TimeShare& each : row.time) shares[bound_of(each.cause)] += each.share;
  // With all that is unclear taken off, which its part in `time` has lost a share of only.
  if (const auto unclear = shares.extract("unclear"); !unclear.empty()) {
    const double waits = 1 - shares["compute"];
    const double clear = waits - unclear.mapped();
    for (auto& [bound, share] : shares)
      if (bound != "compute") share = clear > 0 ? std::max(share * waits / clear - unclear.mapped(), 0.0) : 0;
  }
  const auto largest =
      std::max_element(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (largest->second < kBoundShare || largest->first == "other") {
    row.bound_by = "mixed";
    return;
  }
  row.bound_by = largest->first;
  row.bound_share = largest->second;
}

}  // namespace tracer::internal
