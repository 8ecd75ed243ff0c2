// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <tracer/event.hpp>

#include "state/end_nature.hpp"

namespace tracer::internal {

/// What has come of a process that ended by a signal or with a status other than 0.
enum class Verdict {
  kFailed,             ///< It is a failure. Any of the next three may follow.
  kPassing,            ///< One more, the last of `passed_on_by`, ended with the same status.
  kPassedOn,           ///< Its parent ended with the same status, and so on, up to where nothing is known.
  kIgnored,            ///< The parent went on, or ended otherwise.
  kReaderHadEnough,    ///< It is none: it wrote to what nobody reads, and nobody passed that on.
  kEndedByItsStarter,  ///< It is none: its parent, or one above, ended it by a signal, and has not failed by that.
};

/// Where a failure begins.
struct FailureOrigin {
  std::shared_ptr<const Process> process;  ///< Never null.
  std::shared_ptr<void> tag;               ///< Of whoever reported its end.
  std::optional<std::int32_t> exit_code = {};
  std::optional<std::int32_t> exit_signal = {};
  bool core_dumped = false;
  bool status_is_answer = false;
  std::optional<std::string> sender = {};        ///< Of the signal: as ProcessExit::exit_signal_sender.
  std::optional<std::uint32_t> sender_pid = {};  ///< As ProcessExit::exit_signal_sender_pid.
  std::optional<bool> oom_killed = {};
  std::shared_ptr<const Process> sender_process = {};  ///< Null: not known.
  bool reader_left = false;                            ///< It ended by writing to what nobody reads anymore.
  bool ended_by_starter = false;  ///< The sender is above it or beside it, or belongs to the same run.
  /// Its parent, and those above, that ended with the same status; the first of them.
  std::vector<std::shared_ptr<const Process>> passed_on_by = {};
  std::shared_ptr<const Process> ignored_by = {};  ///< Null: nobody, or not known.
  /// One of passed_on_by ended with a status of its own, soon after: that of a handler, for example.
  bool is_likely = false;
};

/// Decides which ends of processes are failures, by what their parents did next. A process that passes the status of
/// a child on is no failure of its own. Each failure is decided at once where its status alone shows it, others when
/// the parent has ended or gone on: a false alarm is worse than a late one. Bounded: by the processes that live, and
/// by the constants below.
class FailureChains {
 public:
  using Decide = std::function<void(const FailureOrigin&, Verdict)>;

  explicit FailureChains(Decide decide) : decide_(std::move(decide)) {}

  /// It began, or executed a program.
  void saw(const std::shared_ptr<const Process>& process);
  /// A run or task with this context began with it: its status is that of the run or task, so that nothing excuses it.
  /// The command of a recipe or a launcher that is a task by inference only is excused like any other, by its parent.
  void leads(std::uint32_t pid, std::uint64_t start_ns, const Context& context);
  /// It ended. `engine_own`: as an engine's own process, which is no failure of the work.
  void ended(const ProcessExit& exit, bool engine_own, const std::shared_ptr<void>& tag = {});
  /// Its end was lost, or it is not followed any more.
  void forget(std::uint32_t pid, std::uint64_t start_ns);
  /// Nothing more comes: what still waits for a parent that lives is decided.
  void finish(std::uint64_t time_ns);
  /// One that lives, or has ended lately; null: neither is known.
  std::shared_ptr<const Process> known_process(std::uint32_t pid) const;

 private:
  static constexpr std::size_t kMostLiving = 262144;
  static constexpr std::size_t kEndedPlaces = 8192;   ///< By pid; a power of two.
  static constexpr std::size_t kMostPending = 64;     ///< Of one parent.
  static constexpr std::size_t kMostWaiting = 65536;  ///< Of all parents.
  static constexpr std::size_t kLeastWaiting = 1024;
  static constexpr std::size_t kMostOrigins = 64;  ///< In one process's status.
  static constexpr std::size_t kMostPassing = 8;   ///< Processes that are named.

  struct Origin {
    FailureOrigin what;
    EndNature nature = EndNature::kFailure;
    bool killed_at_work = false;  ///< By its starter, which gave it no time to end.
    bool by_own_parent =
        false;  ///< A worker that the session's own process, which is not followed, has begun and ended.
  };
  /// The end of a child, until its parent has taken its next step.
  struct Pending {
    std::uint64_t start_ns = 0;
    std::uint64_t end_ns = 0;
    ChildEnd end = {};
    bool cleans_up = false;
    bool ends_others = false;
    std::vector<Origin> origins = {};            ///< Never empty.
    std::shared_ptr<const Process> parent = {};  ///< With the program that it had then.
  };
  enum class Leads { kNothing, kInferredTask, kWork };
  struct Known {
    std::uint64_t start_ns = 0;
    std::shared_ptr<const Process> process = {};  ///< Null: only that it leads is known so far.
    Leads leads = Leads::kNothing;
    std::uint64_t last_child_ns = 0;    ///< When the last child began, since the first of `pending` ended.
    std::uint64_t last_work_ns = 0;     ///< When the last child began that has ended and does not clean up.
    std::vector<Pending> pending = {};  ///< The oldest first.
  };

  Known* living(std::uint32_t pid, std::uint64_t start_ns);
  Known* living_parent(const Process& process);
  bool starter_sent(const ProcessExit& exit) const;
  bool service_engine_sent(const ProcessExit& exit) const;
  Origin origin_of(const ProcessExit& exit, const std::shared_ptr<void>& tag) const;
  static const Pending* cause_of(const Known& parent, const ProcessExit& exit);
  std::vector<Origin> settle(Known& parent, const ProcessExit& exit);
  void went_on(Pending& child, bool sibling_failed, bool is_known);
  void pass_on(std::vector<Origin>& origins, const ProcessExit& exit, bool leads);
  static bool has_failure(const std::vector<Origin>& origins);
  void fail(Origin& origin);
  void hand_up(Pending pending, const ProcessExit& exit);
  void end_at_top(Pending& pending, const ProcessExit& exit);
  /// Null: it has not ended, or so many have since that it was forgotten.
  std::shared_ptr<const Process> ended_process(std::uint32_t pid) const;

  struct Waiting {
    std::uint32_t parent_pid;
    std::uint64_t parent_start_ns;
    std::uint64_t end_ns;
  };

  /// The parent whose oldest pending child may be that one; null: it is decided.
  Known* parent_of(const Waiting& waiting);
  void wait_for(const Waiting& waiting);
  void expire();

  Decide decide_;
  std::unordered_map<std::uint32_t, Known> living_;  ///< By pid.
  std::vector<std::shared_ptr<const Process>> ended_ = std::vector<std::shared_ptr<const Process>>(kEndedPlaces);
  std::deque<Waiting> waiting_;          ///< One for each that is pending, and some that are decided; the oldest first.
  std::size_t tidy_at_ = kLeastWaiting;  ///< The size of `waiting_` from which those that are decided are taken out.
};

}  // namespace tracer::internal
