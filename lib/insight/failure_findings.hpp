// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tracer/event.hpp>

#include "insight/detector.hpp"
#include "insight/output_readers.hpp"
#include "insight/retried_tasks.hpp"
#include "state/failure_chains.hpp"

namespace tracer::internal {

/// Findings about what failed: at once where the kernel or a stranger ended a process, else when the task or run ends,
/// by what it reports of itself. Bounded: by what lives, and by the constants below.
class FailureFindings : public Detector {
 public:
  explicit FailureFindings(FindingBook& book);

  /// One that lives, or has ended lately; null: neither is known.
  std::shared_ptr<const Process> known_process(std::uint32_t pid) const { return chains_.known_process(pid); }
  void run_began(const RunStart& start) override { began(start.pid, start.start_ns, *start.context, true); }
  void task_began(const TaskStart& start) override { began(start.pid, start.start_ns, *start.context, false); }
  void process_began(const std::shared_ptr<const Process>& process, std::uint64_t) override { chains_.saw(process); }
  void process_killed(const OomKill& kill) override;
  void process_ended(const ProcessExit& exit, std::vector<Event>& events) override;
  void scope_ended(const ScopeEnd& end, std::vector<Event>& events) override;
  void session_ends(std::uint64_t time_ns, std::vector<Event>& events) override;

 private:
  static constexpr std::size_t kMostOfScope = 64;
  static constexpr std::size_t kMostBytes = 16u << 20;  ///< Of what failed: kMostOfScope each of 200 tasks.
  static constexpr std::size_t kMostBytesOfLeaders = 8u << 20;
  static constexpr std::size_t kMostBytesOfOomKills = 256u << 10;

  struct Failed {
    FailureOrigin origin = {};
    std::uint64_t end_ns = 0;
    std::uint64_t cpu_ns = 0;         ///< Of its last program.
    std::uint64_t written_bytes = 0;  ///< By its last program, to whatever.
    bool could_not_load = false;
    bool little = false;  ///< It did so little that its status may be all that it was run for.
    bool trying = false;  ///< Below what tries things out.
    bool crashed = false;
    bool by_kernel = false;
    bool by_stranger = false;
    std::string_view said = {};  ///< The worst severity of a finding about it. Empty: there is none.
    std::shared_ptr<const FindingDraft> at_end = {};  ///< The finding that its end was, at once. Null: none.
  };
  using FailedPtr = std::shared_ptr<Failed>;
  struct Dropped {
    std::uint64_t count = 0;
    std::uint64_t first_ns = UINT64_MAX;
    void add(const Dropped& other);
  };
  /// Of a task or run.
  struct Scope {
    std::vector<FailedPtr> all = {};
    std::size_t bytes = 0;      ///< That `all` takes.
    Dropped dropped = {};       ///< That are not in `all`, and may be no more than notes.
    Dropped dropped_work = {};  ///< Likewise, of what did more.
    bool ran_out_of_memory = false;
    RetriedTasks::Said said = {};  ///< Why it failed.
  };
  struct Leader {
    std::uint32_t pid = 0;
    std::uint64_t start_ns = 0;
    std::shared_ptr<const Context> context;
    bool is_run = false;
    std::optional<std::uint64_t> end_ns = {};  ///< Absent: it lives.
    std::optional<std::int32_t> exit_code = {};
    std::optional<std::int32_t> exit_signal = {};
  };
  struct Cause {
    FailedPtr failed;  ///< Null: not known.
    bool is_certain = false;
  };

  void began(std::uint32_t pid, std::uint64_t start_ns, const Context& context, bool is_run);
  void gone(ScopeId id, ScopeId into);
  void decide(const FailureOrigin& origin, Verdict verdict);
  void failed(const FailedPtr& failed);
  bool is_below_trying(const Process& process) const;
  bool is_above(const Process& process, const Process& below) const;
  std::shared_ptr<const Process> reader_of(const Failed& failed) const;
  void report_end(Failed& failed);
  void add_oom(FindingDraft& draft, const Process& process) const;
  static std::size_t bytes_of(const Failed& failed);
  void remember(ScopeId id, const FailedPtr& failed);
  static void drop(Scope& scope, const Failed& failed);
  bool report_used(Failed& failed, const Leader& scope, std::uint64_t time_ns, std::vector<Event>& events);
  void report_silent(std::vector<FailedPtr> alike, const Dropped& dropped, const Leader& scope,
                     std::string_view severity, std::uint64_t time_ns, std::vector<Event>& events);
  void ended_well(const Scope& scope, const Leader& leader, std::uint64_t time_ns, std::vector<Event>& events);
  void ended_badly(ScopeId id, Scope& scope, const Leader& leader, std::uint64_t time_ns, std::vector<Event>& events);
  Cause cause_of(const Scope& scope, const Leader& leader) const;
  Scope leader_ended(ScopeId id, const Leader& leader, std::uint64_t time_ns, std::vector<Event>& events);

  FindingBook& book_;
  FailureChains chains_{[this](const auto& failure, auto verdict) { decide(failure, verdict); }};
  OutputReaders readers_;
  RetriedTasks retried_;
  Bounded<ScopeId, Scope> by_scope_;           ///< The innermost one that something failed in.
  Bounded<ScopeId, Leader> leaders_;           ///< Of tasks and runs that are not over, without contexts.
  Bounded<std::uint32_t, OomKill> oom_kills_;  ///< By pid, until its end.
  std::uint64_t now_ns_ = 0;
  std::vector<Event>* events_ = nullptr;
};

}  // namespace tracer::internal
