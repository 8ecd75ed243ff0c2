// SPDX-License-Identifier: Apache-2.0
#include "state/group_memory.hpp"

#include <algorithm>
#include <limits>

namespace tracer::internal {

void GroupMemory::end_snapshot() {
  if (!now_) return;
  const auto bytes = now_->bytes();
  sampled_bytes_ = std::max(sampled_bytes_, bytes.value_or(0));
  if (!bytes) ++unknown_snapshots_;
  now_.reset();
}

void GroupMemory::ended(const ProgramAccount& program, bool peak_matters) {
  const Account& account = program.account;
  const auto at_least = account.peak_rss_bytes ? account.peak_rss_bytes : account.peak_rss_at_least_bytes;
  const auto at_most = account.peak_rss_bytes ? account.peak_rss_bytes : account.peak_rss_at_most_bytes;
  largest_bytes_ = std::max(largest_bytes_, at_least.value_or(0));
  if (at_most && program.start_ns && program.end_ns) {
    own_peaks_.add(*program.start_ns, *program.end_ns, *at_most);
  } else if (peak_matters) {
    ++unknown_peaks_;
  }
}

void GroupMemory::worked(std::optional<std::uint64_t> at_least, std::optional<std::uint64_t> at_most) {
  largest_bytes_ = std::max(largest_bytes_, at_least.value_or(0));
  if (at_most) {
    worked_bytes_ = std::max(worked_bytes_, *at_most);
  } else {
    ++unknown_peaks_;
  }
}

void GroupMemory::add(const GroupMemory& others) {
  const PeakBounds peak = others.peak();
  sampled_bytes_ = std::max(sampled_bytes_, peak.at_least_bytes);
  unknown_snapshots_ += peak.unknown_snapshots;
  unknown_peaks_ += others.unknown_peaks_;
  worked_bytes_ = std::max(worked_bytes_, others.worked_bytes_);
  own_peaks_.add(others.own_peaks_);
}

PeakBounds GroupMemory::peak() const {
  PeakBounds peak{std::max(sampled_bytes_, largest_bytes_), std::nullopt, unknown_snapshots_};
  if (now_) {
    const auto bytes = now_->bytes();
    peak.at_least_bytes = std::max(peak.at_least_bytes, bytes.value_or(0));
    if (!bytes) ++peak.unknown_snapshots;
  }
  // What a recording says may be any number.
  const std::uint64_t most_bytes =
      own_peaks_.most_bytes() +
      std::min(worked_bytes_, std::numeric_limits<std::uint64_t>::max() - own_peaks_.most_bytes());
  if (unknown_peaks_ != 0 || most_bytes == 0) return peak;
  peak.at_most_bytes = most_bytes;
  // A snapshot may see some pages twice that programs have in common, and its counters lag by some pages.
  peak.at_least_bytes = std::min(peak.at_least_bytes, most_bytes);
  return peak;
}

}  // namespace tracer::internal
