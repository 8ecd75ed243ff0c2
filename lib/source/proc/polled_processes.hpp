// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/counter.hpp"
#include "source/feed.hpp"
#include "source/proc/exit_watch.hpp"
#include "source/proc/fork_count.hpp"
#include "source/proc/poll_clock.hpp"
#include "source/proc/polled_process.hpp"
#include "source/proc/proc_files.hpp"

namespace tracer::internal {

/// The processes that are followed by looking at them: yields what has become of each since the last look. One thread,
/// but for what any thread may ask.
class PolledProcesses {
 public:
  using Clock = PollClock::Clock;
  using Map = std::map<std::uint32_t, PolledProcess>;  ///< By pid.

  /// `files` and `clock` outlive it.
  PolledProcesses(const ProcFiles& files, PollClock& clock, std::size_t most);

  /// Begins to count what may be missed.
  void start() { forks_.start(files_); }
  void stop() noexcept { forks_.stop(files_); }

  const Map& all() const noexcept { return processes_; }
  bool contains(std::uint32_t pid) const { return processes_.contains(pid); }
  /// Null: it is not followed, or another had this pid.
  PolledProcess* find(std::uint32_t pid, const ProcStat& stat);
  /// From now on it is followed. `counted`: saw() was told of it. False: it has ended meanwhile, or there are too many.
  bool adopt(std::uint32_t pid, const ProcStat& stat, std::uint32_t context_id, bool counted, Feed& feed);
  /// One is there that is not followed.
  void saw(const ProcStat& stat) noexcept { forks_.saw(stat); }
  /// It has this context from now on.
  void relabel(PolledProcess& process, std::uint32_t context_id, Feed& feed);
  /// Looks at those whose turn it is, or at all.
  void look(Feed& feed, bool at_all);
  /// Looks at all, and yields a record of each that lives.
  void sample(Feed& feed);
  /// Whether, since the last call, another process had the pid of one that had ended.
  bool take_came_again() noexcept { return std::exchange(came_again_, false); }
  /// Yields the ends that pidfds have heard of.
  void take_ended(Feed& feed);

  /// Readable when take_ended() has something to do.
  int fd() const noexcept { return exits_.fd(); }
  // From any thread.
  std::vector<RawTotals> totals() const;
  void forget_context(std::uint32_t id);
  std::optional<std::uint64_t> missed_at_most() const { return forks_.missed_at_most(files_); }
  /// Those that were not followed, as there were too many.
  std::uint64_t refused() const noexcept { return refused_.value(); }

 private:
  struct Final {
    bool known = false;
    std::optional<int> wait_status;  ///< As waitpid() gives it.
  };

  bool is_gone(const PolledProcess& process) const;
  bool see(PolledProcess& process, Feed& feed, Clock::time_point now, bool whole);
  void tell_exec(PolledProcess& process, const PolledProcess& before, Feed& feed, bool lives);
  ThreadRecord sample_of(const PolledProcess& process) const;
  void end_all(std::vector<std::uint32_t> gone, Feed& feed);
  void end(std::uint32_t pid, Feed& feed);
  void end_children_of(const PolledProcess& process, Feed& feed);
  void tell_end(PolledProcess& process, Feed& feed);
  Final read_final(PolledProcess& process);
  void give_to_parent(const PolledProcess& process);
  RecordIdentity identity_of(std::uint32_t pid, const ProcStat& stat, std::uint32_t context_id);
  std::uint64_t cgroup_id(Hierarchy hierarchy, const std::string& path);
  void count_start(std::uint32_t context_id);
  void count_end(std::uint32_t context_id, bool failed);

  const ProcFiles& files_;
  PollClock& clock_;
  const std::size_t most_;
  ExitWatch exits_;
  ForkCount forks_;
  Map processes_;
  std::map<std::pair<Hierarchy, std::string>, std::uint64_t> cgroup_ids_;
  std::uint64_t since_ns_;  ///< What began before has children that are nobody's loss.
  bool came_again_ = false;
  Counter refused_;
  mutable std::mutex totals_mutex_;
  std::map<std::uint32_t, RawTotals> totals_;  ///< By context id: counts alone.
};

}  // namespace tracer::internal
