// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

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

#include "base/fair_room.hpp"
#include "base/user_questions.hpp"
#include "history/session_history.hpp"
#include "insight/detector.hpp"
#include "insight/stall_findings.hpp"
#include "insight/works.hpp"

namespace tracer::internal {

/// Findings about what is not as in earlier runs; and adds the session's tasks and runs to the history. Bounded: by
/// what lives, and by the constants below.
class NotNormal : public Detector {
 public:
  /// `wall_offset_ns` turns the boot clock into Unix time. `on_this_host`: files may be asked for their sizes.
  NotNormal(FindingBook& book, std::unique_ptr<SessionHistory> history, std::uint64_t wall_offset_ns, bool on_this_host)
      : book_(book),
        history_(std::move(history)),
        wall_offset_ns_(wall_offset_ns),
        on_this_host_(on_this_host),
        living_(book) {}

  /// What earlier tasks of the kind of this one took, as far as it lives and they are known.
  std::optional<UsualPace> pace_of(const Context& context);
  void run_began(const RunStart& start) override { begin(*start.context, true, start.start_ns); }
  void task_began(const TaskStart& start) override { begin(*start.context, false, start.start_ns); }
  void changed(const ContextChange& change) override;
  void process_began(const std::shared_ptr<const Process>& process, std::uint64_t) override {
    look_at_script(*process);
  }
  void process_ended(const ProcessExit& exit, std::vector<Event>& events) override;
  void process_killed(const OomKill& kill) override;
  void process_lived(const ProcessSpan& span, std::vector<Event>& events) override;
  void snapshot_ended(const SnapshotEnd& snapshot, std::vector<Event>& events) override;
  void scope_lives(const ScopeFigures& figures, std::uint64_t time_ns, std::vector<Event>& events) override;
  void scope_ended(const ScopeEnd& end, std::vector<Event>& events) override;
  void session_ends(std::uint64_t time_ns, std::vector<Event>& events) override;

 private:
  static constexpr std::size_t kMostTools = 64;  ///< Of one task.
  /// For all users, as is the next; one alone may hold half of it.
  static constexpr std::size_t kMostSteps = 8192;
  static constexpr std::size_t kMostWaiting = 8192;

  /// A run or task that has begun and not finished.
  struct Living {
    std::uint64_t begin_ns = 0;
    std::optional<TaskKind> kind = {};              ///< Absent: it is known at its end only.
    std::optional<std::uint64_t> script = {};       ///< Of what its leader runs, without the size; see Script.
    std::shared_ptr<const UsualOfKind> usual = {};  ///< Null: it has not come yet.
    std::optional<Usual> usual_wall = {};           ///< Of any input.
    std::uint64_t read_bytes = 0;                   ///< So far, by those of its processes that are sampled.
    std::map<std::string, std::uint64_t> tools;     ///< CPU time of what ended.
    bool out_of_memory = false;
  };
  /// A task, or a run without tasks, at its end; of one that lives, up to now, and nothing past.
  struct Ended {
    PastTask past;
    std::shared_ptr<const Context> context;
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    bool is_run = false;
  };
  /// What tasks of a step requested and used.
  struct Step {
    std::shared_ptr<const Context> context;
    TaskKind kind = {};
    std::uint64_t tasks = 0;
    std::uint64_t requested_memory_bytes = 0;
    std::uint64_t peak_bytes = 0;
    std::uint64_t requested_millicpus = 0;
    std::uint64_t used_millicpus = 0;
  };

  uid_t user_of(const Context& context) const { return book_.accounts()->user_of(context.owner_uid); }
  Living* living(const Context& context, bool is_run) { return living_.find(book_.scopes().id_of(context, is_run)); }
  void begin(const Context& context, bool is_run, std::uint64_t begin_ns);
  bool is_above(std::string_view code, std::uint64_t figure, const Usual& usual) const;
  /// `over`: of one that has ended. `severity`: as in FindingDraft.
  void report_slow(const Ended& of, const Usual& usual, bool over, std::string_view severity,
                   std::vector<Event>& events);
  void report_above(std::string_view code, const std::shared_ptr<const Context>& context, std::uint64_t begin_ns,
                    std::uint64_t end_ns, std::string_view what, std::uint64_t value, const Usual& usual,
                    std::vector<Event>& events);
  void look_at_script(const Process& process);
  std::uint64_t script_of(ScopeId id, const Living* known);
  template <class Finish>
  PastTask past_of(ScopeId id, const Finish& finish, const Living* known);
  /// With earlier ones, now or when these are known.
  void compare(Ended ended, std::vector<Event>& events);
  void compare_with(const UsualOfKind& usual, const Ended& ended, std::vector<Event>& events);
  void compare_waiting(std::vector<Event>& events);
  void judge_request(const TaskFinish& finish, const PastTask& past, std::vector<Event>& events);
  void add_to_step(const TaskFinish& finish, const PastTask& past);
  void judge_steps(const std::optional<ScopeId>& run, std::uint64_t time_ns, std::vector<Event>& events);
  void judge_step(const Step& step, const UsualOfKind& usual, std::uint64_t time_ns, std::vector<Event>& events);
  void task_ended(ScopeId id, const TaskFinish& finish, const Living* known, std::vector<Event>& events);
  void run_ended(ScopeId id, const RunFinish& finish, const Living* known, std::vector<Event>& events);
  void report_problem(std::uint64_t time_ns, std::vector<Event>& events);

  FindingBook& book_;
  std::unique_ptr<SessionHistory> history_;
  std::uint64_t wall_offset_ns_;
  bool on_this_host_;
  UserQuestions<ScopeId, std::optional<std::uint64_t>> sizes_;  ///< Of scripts.
  std::deque<Ended> waiting_;
  std::vector<Step> ended_steps_;  ///< Of runs that are over; likewise.
  Works<Living> living_;
  std::map<std::pair<ScopeId, TaskKind>, Step> steps_;  ///< By run and kind.
  FairRoom waiting_room_{kMostWaiting};
  FairRoom steps_room_{kMostSteps};  ///< For those that have ended, too.
};

}  // namespace tracer::internal
