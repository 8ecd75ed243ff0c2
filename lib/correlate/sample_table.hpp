// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <tracer/sample.hpp>

#include "correlate/account.hpp"
#include "correlate/progress_table.hpp"
#include "source/host_questions.hpp"
#include "source/records.hpp"

namespace tracer::internal {

/// Adds up what one snapshot's records tell of each living process. One thread at a time.
class SampleTable {
 public:
  /// For all shares of a snapshot: the kernel's ring fills meanwhile.
  static constexpr std::chrono::milliseconds kMostTimeForShares{200};

  /// `host`: outlives it; null: nobody knows shares of memory.
  explicit SampleTable(HostQuestions* host, std::chrono::milliseconds most_time_for_shares = kMostTimeForShares)
      : host_(host), most_time_for_shares_(most_time_for_shares) {}

  /// `before`: what of its sums is not its own. `calls_before_exec`: as in living_account().
  void add(const ThreadRecord& record, std::shared_ptr<const Process> process, std::optional<std::uint64_t> attached_ns,
           const ProcessSums& before = {}, std::optional<std::uint64_t> calls_before_exec = {});
  void add(FileRecord record) { progress_.add(std::move(record)); }
  /// It has ended meanwhile.
  void drop(std::uint32_t pid) { samples_.erase(pid); }
  /// Forgets what came since the last take().
  void clear() {
    samples_.clear();
    progress_.clear();
  }
  std::vector<ProcessSample> take();
  /// The rates of later samples are those since these.
  void end_round() { progress_.end_round(); }

 private:
  struct Sampling {
    ProcessSample sample;
    ProcessSums sums;
    ProcessSums before;
    std::uint64_t read_before_exec_bytes = 0;
    std::optional<std::uint64_t> calls_before_exec = {};
    RecordFlags flags;
    bool has_huge_pages = false;
    bool borrows_memory() const noexcept { return flags.borrows_memory; }
    bool is_copy() const noexcept { return flags.copy && !borrows_memory(); }
  };
  using Samplings = std::map<std::uint32_t, Sampling>;
  using Pids = std::set<std::uint32_t>;

  Pids sharing() const;
  std::uint64_t count_of_huge() const;
  void share_out_memory();
  void share_out_files();
  bool read_shares(Pids& pids, std::chrono::steady_clock::time_point until);
  void forget_memory(std::uint32_t pid);

  HostQuestions* host_;
  std::chrono::milliseconds most_time_for_shares_;
  Samplings samples_;
  ProgressTable progress_;
};

}  // namespace tracer::internal
