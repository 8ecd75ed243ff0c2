// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

#include "insight/detector.hpp"
#include "insight/works.hpp"
#include "source/proc/served_mount.hpp"

namespace tracer::internal {

/// What earlier tasks of a kind took: medians.
struct UsualPace {
  std::uint64_t wall_ns = 0;
  std::uint64_t idle_ns = 0;  ///< Of it, the time in which nothing computed, at least.
  std::uint64_t past = 0;     ///< How many there were.
};

/// Findings about tasks, and runs without tasks, in which nothing moves: none of their processes computes, reads or
/// writes, and none begins or ends. Bounded: by what lives, and as Works.
class StallFindings : public Detector {
 public:
  /// Absent: nothing, or too little, is known of it.
  using FindPace = std::function<std::optional<UsualPace>(const Context&)>;

  /// The mounted file system that a process waits for; absent: not known.
  using ReadMount = std::function<std::optional<AwaitedMount>(std::uint32_t pid, std::uint64_t start_ns,
                                                              const std::vector<std::string>& arguments)>;

  explicit StallFindings(FindingBook& book);

  /// Before the first event: what earlier tasks of the same kind took.
  void use(FindPace find_pace) { find_pace_ = std::move(find_pace); }
  /// Likewise: of what happens on this host now.
  void ask(ReadMount read_mount) { read_mount_ = std::move(read_mount); }
  void process_began(const std::shared_ptr<const Process>& process, std::uint64_t time_ns) override {
    moved(*process, time_ns);
  }
  void process_lived(const ProcessSpan& span, std::vector<Event>& events) override;
  void snapshot_ended(const SnapshotEnd&, std::vector<Event>&) override { ++snapshot_; }
  void scope_lives(const ScopeFigures& figures, std::uint64_t time_ns, std::vector<Event>& events) override;
  void scope_ended(const ScopeEnd& end, std::vector<Event>&) override { works_.erase(end.id); }

 private:
  /// A process that lives, by its last sample.
  struct Member {
    std::uint64_t start_ns = 0;
    ScopeId scope = ScopeId::kNone;  ///< The innermost that it is in.
    std::uint64_t quiet_since_ns = 0;
    std::uint64_t snapshot = 0;
    std::string_view waits_for;  ///< The name of a member of ProcessLedger. Empty: several things.
    std::uint32_t peer_pid = 0;  ///< That ended its earlier waits for this pipe. 0: not known.
    std::uint64_t threads = 1;
    bool asked = false;  ///< Since it is quiet, for what `mount` says.
    std::optional<AwaitedMount> mount;
    std::shared_ptr<const Process> process;
  };
  struct Work {
    std::uint64_t moved_ns = 0;
    std::vector<std::uint32_t> sampled = {};  ///< Pids, in the snapshot of this number.
    std::uint64_t snapshot = 0;
  };

  /// A process began, ended, or began another program.
  void moved(const Process& process, std::uint64_t time_ns);
  bool waits_in_circle(const std::vector<const Member*>& members) const;
  /// Of the processes of one task.
  struct Natures {
    std::unordered_map<std::uint32_t, std::pair<const Member*, bool>> by_pid = {};  ///< True: it waits by nature.
    bool any_normal = false;
  };
  Natures natures_of(const std::vector<const Member*>& members) const;
  static bool waits_by_nature(const Member& member, const Natures& natures);
  const std::optional<AwaitedMount>& mount_of(std::uint32_t pid);
  void report(const ScopeFigures& figures, const std::vector<const Member*>& members, std::uint64_t since_ns,
              std::uint64_t time_ns, std::vector<Event>& events);

  std::uint64_t needed_ns(std::uint64_t least_ns, const std::optional<UsualPace>& pace) const;

  FindingBook& book_;
  FindPace find_pace_;
  ReadMount read_mount_;  ///< Empty: nothing is asked.
  std::uint64_t least_with_past_ns_;
  std::uint64_t past_percent_;
  std::uint64_t least_ns_;
  std::uint64_t least_sleep_ns_;
  std::uint64_t most_cpu_percent_;
  std::uint64_t least_circle_ns_;
  std::uint64_t snapshot_ = 1;                         ///< The number of the one that comes next.
  std::unordered_map<std::uint32_t, Member> members_;  ///< By pid.
  Works<Work> works_;
};

}  // namespace tracer::internal
