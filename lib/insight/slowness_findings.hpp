// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

#include "insight/detector.hpp"
#include "insight/works.hpp"

namespace tracer::internal {

/// Findings about what kept a task, or a run without tasks, from being faster, as a whole: its waits, CPUs that it did
/// not get or did not use, processes too short to be worth their start. Bounded: as Works, and by the constants below.
class SlownessFindings : public Detector {
 public:
  /// The CPUs that those threads of these processes may use that could run just now.
  using ReadCpus = std::function<std::set<std::uint32_t>(const std::vector<std::uint32_t>& pids)>;

  explicit SlownessFindings(FindingBook& book);

  /// Before the first event: of what happens on this host now.
  void ask(ReadCpus read_cpus) { read_cpus_ = std::move(read_cpus); }

  void process_lived(const ProcessSpan& span, std::vector<Event>& events) override;
  void process_ended(const ProcessExit& exit, std::vector<Event>& events) override;
  void cgroup_sampled(const CgroupSample& sample) override;
  void scope_lives(const ScopeFigures& figures, std::uint64_t time_ns, std::vector<Event>& events) override;
  void scope_ended(const ScopeEnd& end, std::vector<Event>& events) override;

 private:
  static constexpr std::size_t kMostShortTools = 64;  ///< Of one task or run.
  static constexpr std::size_t kMostInLine = 64;      ///< Likewise.
  static constexpr std::size_t kMostBytesOfLimits = 4u << 20;
  static constexpr std::size_t kCauses = 4;

  /// Of the time that a task waited for one thing.
  struct Cause {
    std::string_view code;
    std::uint64_t least_wall_ns = 0;
    std::uint64_t least_wait_ns = 0;
    std::uint64_t least_percent = 0;
    std::uint64_t least_percent_beside = 0;  ///< Where another took more.
  };
  /// The process that waited longest for it.
  struct Most {
    std::shared_ptr<const Process> process = {};
    std::uint64_t wait_ns = 0;
  };
  struct Sums {
    std::uint64_t cpu_ns = 0;
    std::uint64_t queued_ns = 0;
  };
  /// How many CPUs it used, in windows of some seconds.
  struct Usage {
    std::uint64_t from_ns = 0;
    std::uint64_t cpu_ns = 0;  ///< Of the window, as queued_ns.
    std::uint64_t queued_ns = 0;
    bool known = true;
    std::uint64_t best_millicpus = 0;
    std::uint64_t serial_since_ns = 0;  ///< 0: it is not.
    Most busiest = {};                  ///< Of the window.
  };
  struct Work {
    bool is_new = true;
    Sums sums = {};
    Sums all_before = {};  ///< Of all that is followed, when it was seen first.
    std::uint64_t all_since_ns = 0;
    std::array<Most, kCauses> most = {};
    std::optional<std::string> disk;  ///< For which the process waited that waited longest for disks.
    std::uint64_t reclaim_ns = 0;
    std::uint64_t swap_ns = 0;
    Most most_threads = {};  ///< As wait_ns: their number.
    std::vector<std::uint32_t> in_line =
        {};  ///< Pids of those that stood in line for a tenth of the last span or more.
    std::set<std::uint32_t> ready_cpus = {};  ///< That these might use whenever they were asked.
    Usage usage = {};
    std::uint64_t short_lives = 0;
    std::uint64_t short_ns = 0;
    std::map<std::string, std::uint64_t> short_tools = {};
  };
  struct Scope {
    const ScopeFigures& figures;
    Work& work;
    std::uint64_t time_ns;
    std::vector<Event>& events;
    std::uint64_t wall_ns;
  };

  void look(const ScopeFigures& figures, std::uint64_t time_ns, std::vector<Event>& events);
  void look_at_waits(const Scope& scope);
  void look_at_queue(const Scope& scope);
  std::uint64_t millicpus_there(const Scope& scope, bool in_line_long);
  void look_at_usage(const Scope& scope);
  void look_at_short_lives(const Scope& scope);
  /// Reports it if `holds`, and if it is open and `holds_no_more`, for the last time.
  void decide(FindingDraft draft, bool holds, bool holds_no_more, const Scope& scope);
  std::uint64_t host_millicpus() const noexcept { return std::uint64_t{cpus_} * 1000; }
  std::uint64_t limit(std::string_view code, std::string_view name) const { return book_.rules().limit(code, name); }

  FindingBook& book_;
  ReadCpus read_cpus_;  ///< Empty: nothing is asked.
  std::uint32_t cpus_;
  std::array<Cause, kCauses> causes_;
  std::uint64_t most_short_life_ns_;
  Sums all_ = {};
  Works<Work> works_;
  Bounded<std::uint64_t, std::uint64_t> limit_millicpus_;  ///< By the id of the cgroup.
};

}  // namespace tracer::internal
