// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "source/feed.hpp"
#include "source/proc/polled_processes.hpp"
#include "source/proc/proc_files.hpp"
#include "source/proc/proc_labels.hpp"
#include "source/proc/process_choice.hpp"

namespace tracer::internal {

/// Finds processes that are to be followed. One thread.
class ProcessSearch {
 public:
  /// All outlive it.
  ProcessSearch(const ProcFiles& files, const ProcessChoice& choice, ProcLabels& labels, PolledProcesses& processes)
      : files_(files), choice_(choice), labels_(labels), processes_(processes) {}

  /// Those that live when the session starts.
  void take_in_living(Feed& feed);
  /// Those that have begun since the last call.
  void take_in_new(Feed& feed);
  /// A process and all that is below it now.
  void track(std::uint32_t pid, std::uint32_t context_id, Feed& feed);

 private:
  using Seen = std::vector<std::pair<std::uint32_t, ProcStat>>;

  Seen living_in_order() const;
  bool consider(std::uint32_t pid, const ProcStat& stat, bool at_start, Feed& feed);
  void consider_all(const Seen& seen, bool at_start, Feed& feed);
  void take_labeled(Feed& feed);
  bool is_for_labels(const ProcStat& stat) const;
  void search_children(Feed& feed);
  void search_all(Feed& feed);

  const ProcFiles& files_;
  const ProcessChoice& choice_;
  ProcLabels& labels_;
  PolledProcesses& processes_;
  std::set<std::uint32_t> foreign_;  ///< Living processes that are not followed.
  std::set<std::uint32_t> pruned_;   ///< Those that an exclude rule prunes.
  std::uint64_t last_pid_ = 0;       ///< The newest at the last search.
};

}  // namespace tracer::internal
