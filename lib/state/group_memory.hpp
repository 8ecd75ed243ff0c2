// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <tracer/process.hpp>

#include "state/held_at_once.hpp"
#include "state/held_memory.hpp"

namespace tracer::internal {

/// A peak, as far as it is known.
struct PeakBounds {
  std::uint64_t at_least_bytes = 0;            ///< 0: nothing is known.
  std::optional<std::uint64_t> at_most_bytes;  ///< Absent: not known of each.
  std::uint64_t unknown_snapshots = 0;         ///< That could not be counted.

  /// Both bounds are the same, to one part in a hundred.
  bool exact() const noexcept {
    return at_least_bytes != 0 && at_most_bytes && *at_most_bytes - at_least_bytes <= *at_most_bytes / 100;
  }
};

/// The most memory that several processes ever held together. At least: what snapshots saw, and the largest one's own
/// peak. At most: the sum of the peaks of those that lived at once. A snapshot in which it is not known of one of them
/// does not count.
class GroupMemory {
 public:
  /// False: this is the first of this snapshot.
  bool in_snapshot() const noexcept { return now_.has_value(); }
  template <class Sample>
  void add(const Sample& sample) {
    if (!now_) now_.emplace();
    now_->add(sample);
  }
  void end_snapshot();
  /// `peak_matters`: not of a mere copy of the parent, before its first exec.
  void ended(const ProgramAccount& program, bool peak_matters);
  /// A process that lives on has done a part of its work in here, and held this at its peak: several parts are of one
  /// and the same process.
  void worked(std::optional<std::uint64_t> at_least, std::optional<std::uint64_t> at_most);
  /// One of those that snapshots saw is none of them.
  void forget_snapshots() noexcept { now_.reset(), sampled_bytes_ = unknown_snapshots_ = 0; }
  /// It lives, or its end was lost: its peak is not known.
  void peak_unknown() noexcept { ++unknown_peaks_; }
  /// These were others until now.
  void add(const GroupMemory& others);
  /// The snapshot that is being taken included.
  PeakBounds peak() const;

 private:
  std::optional<HeldMemory> now_;
  std::uint64_t sampled_bytes_ = 0;  ///< The most of all snapshots before.
  std::uint64_t unknown_snapshots_ = 0;
  std::uint64_t largest_bytes_ = 0;
  std::uint64_t unknown_peaks_ = 0;
  std::uint64_t worked_bytes_ = 0;  ///< The most of those that have worked().
  std::uint64_t ended_ = 0;         ///< Of own_peaks_.
  HeldAtOnce own_peaks_;
};

}  // namespace tracer::internal
