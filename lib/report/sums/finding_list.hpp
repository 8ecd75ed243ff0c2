// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <vector>

#include <tracer/summary.hpp>

namespace tracer::internal {

/// Errors before warnings, and warnings before notes.
inline int rank_of(const Finding& finding) noexcept {
  return finding.severity == "error" ? 0 : finding.severity == "warning" ? 1 : 2;
}

/// The worst first, and of equals the earlier one.
inline void rank(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return rank_of(a) != rank_of(b) ? rank_of(a) < rank_of(b) : a.first_ns < b.first_ns;
  });
}

/// Findings as they were reported last. Bounded: of those beyond kMostFindings only errors and warnings find a place,
/// that of a note.
class FindingList {
 public:
  void add(const Finding& finding) {
    const auto number = static_cast<std::uint64_t>(finding.finding_key);
    const auto known = places_.find(number);
    if (known != places_.end()) {
      all_[known->second] = finding;
      return;
    }
    if (all_.size() < Summary::kMostFindings) {
      places_.emplace(number, all_.size());
      all_.push_back(finding);
      return;
    }
    const auto note = std::find_if(all_.begin(), all_.end(), [](const Finding& each) { return rank_of(each) == 2; });
    if (rank_of(finding) == 2 || note == all_.end()) return;
    places_.erase(static_cast<std::uint64_t>(note->finding_key));
    places_.emplace(number, static_cast<std::size_t>(note - all_.begin()));
    *note = finding;
  }
  std::vector<Finding> ranked() const {
    std::vector<Finding> ranked = all_;
    rank(ranked);
    return ranked;
  }

 private:
  std::vector<Finding> all_;
  std::unordered_map<std::uint64_t, std::size_t> places_;  ///< By finding_key.
};

}  // namespace tracer::internal
