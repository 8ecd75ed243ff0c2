// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <tracer/event.hpp>

#include "history/session_history.hpp"
#include "insight/finding_book.hpp"

namespace tracer::internal {

/// Findings about what is not as in earlier runs; and adds the session's tasks and runs to the history. Bounded: by
/// what lives, and by the constants below.
class NotNormal {
 public:
  /// `wall_offset_ns` turns the boot clock into Unix time.
  NotNormal(FindingBook& book, std::unique_ptr<SessionHistory> history, std::uint32_t cpus,
            std::uint64_t wall_offset_ns)
      : book_(book), history_(std::move(history)), cpus_(cpus), wall_offset_ns_(wall_offset_ns) {}

  void saw(const RunStart& start);
  void saw(const TaskStart& start);
  void saw(const ProcessExit& exit);
  void saw(const OomKill& kill);
  void saw(const ContextChange& change);
  void saw(const SnapshotEnd& snapshot, std::vector<Event>& events);
  /// Before its findings are closed.
  void finished(const TaskFinish& finish, std::vector<Event>& events);
  void finished(const RunFinish& finish, std::vector<Event>& events);
  /// The session ends.
  void finish(std::uint64_t time_ns, std::vector<Event>& events);

 private:
  static constexpr std::size_t kMostLiving = 32768;
  static constexpr std::size_t kMostTools = 64;  ///< Of one task.
  static constexpr std::size_t kMostSteps = 4096;

  /// A run or task that has begun and not finished.
  struct Living {
    std::shared_ptr<const Context> context = Process::no_context();
    std::uint64_t begin_ns = 0;
    std::optional<Usual> usual = {};             ///< Of its wall time; absent: unknown, or its kind is not known yet.
    std::map<std::string, std::uint64_t> tools;  ///< CPU time of what ended.
    bool out_of_memory = false;
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

  Living* living(const std::optional<Key>& key);
  void begin(const std::optional<Key>& key, const std::shared_ptr<const Context>& context, std::uint64_t begin_ns,
             bool is_task);
  bool is_slow(std::uint64_t wall_ns, const Usual& usual) const;
  bool is_above(std::string_view code, std::uint64_t bytes, const Usual& usual) const;
  void report_slow(const std::shared_ptr<const Context>& context, bool is_run, std::uint64_t begin_ns,
                   std::uint64_t end_ns, const Usual& usual, bool over, std::vector<Event>& events);
  void report_above(std::string_view code, const std::shared_ptr<const Context>& context, std::uint64_t begin_ns,
                    std::uint64_t end_ns, std::string_view what, std::uint64_t bytes, const Usual& usual,
                    std::vector<Event>& events);
  template <class Finish>
  PastTask past_of(const Finish& finish, const Living* known) const;
  template <class Finish>
  void compare(const Finish& finish, const PastTask& past, bool is_run, std::vector<Event>& events);
  void judge_request(const TaskFinish& finish, const PastTask& past, std::vector<Event>& events);
  void add_to_step(const TaskFinish& finish, const PastTask& past);
  void judge_steps(const std::optional<Key>& run_key, std::uint64_t time_ns, std::vector<Event>& events);
  void judge_step(const Step& step, std::uint64_t time_ns, std::vector<Event>& events);
  void report_problem(std::uint64_t time_ns, std::vector<Event>& events);

  FindingBook& book_;
  std::unique_ptr<SessionHistory> history_;
  std::uint32_t cpus_;
  std::uint64_t wall_offset_ns_;
  std::unordered_map<std::uint64_t, Living> living_;          ///< By the key of the run or task.
  std::map<std::pair<std::uint64_t, TaskKind>, Step> steps_;  ///< By the key of the run, 0 for none, and the kind.
};

}  // namespace tracer::internal
