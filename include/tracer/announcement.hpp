// SPDX-License-Identifier: Apache-2.0
/// Announcements: an engine's plugin, or any program that knows, states which run or task processes belong to. See
/// Session::announce().
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <tracer/context.hpp>

namespace tracer {

/// The resources that were requested for a task, to compare with what it used.
struct Requested {
  std::optional<std::uint64_t> millicpus = {};  ///< 1000 are one CPU.
  std::optional<std::uint64_t> memory_bytes = {};
  std::optional<std::uint64_t> time_ns = {};
  std::optional<std::string> container = {};  ///< The image.
  std::optional<std::string> tag = {};

  auto operator<=>(const Requested&) const = default;
};

/// Any process that executes a program in this folder or below it, and its descendants. The folder need not exist yet.
struct InWorkDir {
  std::string path;  ///< Absolute, as the processes see it. Not "/".
};

/// A living process and its descendants, including existing ones.
struct OfProcess {
  pid_t pid = 0;
  /// Like Process::start_ns; the session then does not check whether the process still lives, and whose it is. Absent:
  /// the process that has the pid now.
  std::optional<std::uint64_t> start_ns = {};
};

/// All processes of a cgroup and of those below it.
struct InCgroup {
  std::string path;  ///< From the hierarchy's root: "/slurm/job_12". Not "/".
};

/// All processes of a container.
struct InContainer {
  std::string id;  ///< The runtime's id, or its first 12 or more characters.
};

/// All processes that an engine rule or label assigns to this Slurm job.
struct InSlurmJob {
  std::string id;  ///< "12"
};

/// Descendants of a process whose arguments match, and their descendants.
struct BelowProcess {
  OfProcess process;
  /// A pattern for each word, "..." for any number of words: {"...", "align.sh", "S1", "..."}. * stands for any run of
  /// characters, ? for one. At least one word other than "..." and "*".
  std::vector<std::string> argv;
};

using AnnouncementKey = std::variant<InWorkDir, OfProcess, InCgroup, InContainer, InSlurmJob, BelowProcess>;

struct Announcement {
  AnnouncementKey key;
  /// Announces a task if it has a step, task or task_id; otherwise a run if it has a pipeline or run; otherwise only a
  /// sample or labels. Its provenance is ignored: every field is kAnnounced. At most 64 KiB.
  Context context = {};
  Requested requested = {};
  /// Counts from now; not negative. The announcement is then dropped unless its task lives; one that matched no process
  /// is counted.
  std::chrono::milliseconds expires_after = std::chrono::hours(24);
};

/// How many tasks a step of a run will have, by its engine's word.
struct ExpectedTasks {
  std::string step;
  std::uint64_t tasks = 0;

  auto operator<=>(const ExpectedTasks&) const = default;
};

/// A task that waits for its turn in a queue, or the run that it is of. See Session::submit().
struct Submission {
  /// Names the task by engine, run_id and task_id, and attempt from the second one on; the run by engine and run_id.
  /// Its provenance is ignored: every field is kAnnounced.
  Context context = {};
  Requested requested = {};
  std::vector<ExpectedTasks> expected = {};  ///< Of a run. Empty: not known.
  /// Counts from now; not negative. A task that waits longer is forgotten, with the state "expired".
  std::chrono::milliseconds expires_after = std::chrono::hours(24 * 30);
};

/// What became of a submitted task, by its engine's word.
struct Withdrawal {
  Key key = {};                     ///< A task_key, or the run_key of all that is still queued of a run.
  std::string outcome = "unknown";  ///< "succeeded", "failed", "cached", "aborted" or "unknown".
  std::optional<std::int32_t> exit_code = {};
};

}  // namespace tracer
