// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <tracer/event.hpp>

#include "state/counted_tasks.hpp"

namespace tracer::internal {

/// A run of the past, with times by Unix time.
struct PastRun {
  std::uint32_t owner_uid = 0;  ///< In whose recording it is.
  Key run_key = {};
  std::shared_ptr<const Context> context = Process::no_context();  ///< Never null.
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;  ///< Of one that has not finished: until when it was seen.
  bool finished = false;
  std::optional<bool> failed = {};  ///< Absent: not known by now.
  std::uint64_t tasks_ok = 0;       ///< Of all attempts of a task, the last one counts.
  std::uint64_t tasks_failed = 0;
  std::uint64_t tasks_queued = 0;
  std::uint64_t tasks_running = 0;
  std::uint64_t tasks_unknown = 0;  ///< They are over, and nobody knows how.
  std::uint64_t findings = 0;
};

/// Lists the runs of recordings, which may be of several sessions and owners.
class PastRuns {
 public:
  /// Which events say something of runs.
  static bool wants(EventKind kind) noexcept;
  void add(const Event& event, std::uint32_t owner_uid, std::uint64_t wall_offset_ns);
  /// At the end of a recording: what has not finished was there until then.
  void end_recording(std::uint64_t unix_ns);
  /// The newest first.
  std::vector<PastRun> runs() const;

 private:
  enum class State : std::uint8_t { kQueued, kRunning, kOk, kFailed, kUnknown };
  struct Task {
    State state = State::kUnknown;
    std::uint32_t attempt = 0;
  };
  struct Run {
    PastRun run;
    std::map<std::uint64_t, Task> tasks = {};  ///< By attempts_hash().
    std::set<Key> findings = {};
    CountedTasks counted = {};
  };

  Run* run_of(const std::shared_ptr<const Context>& context, std::uint32_t owner_uid);
  static Task* task_of(Run& run, const Context& context);
  void renamed(const ContextChange& change, std::uint32_t owner_uid);

  std::map<std::pair<std::uint32_t, Key>, Run> runs_;
  std::set<std::pair<std::uint32_t, Key>> open_;  ///< Of this recording, that have not finished.
};

}  // namespace tracer::internal
