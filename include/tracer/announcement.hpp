// SPDX-License-Identifier: Apache-2.0
/// What an engine's plugin, or anybody who knows, says of processes to come: Session::announce().
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

/// What was asked for, to be compared with what was used.
struct Requested {
  std::optional<std::uint64_t> millicpus = {};  ///< 1000 are one CPU.
  std::optional<std::uint64_t> memory_bytes = {};
  std::optional<std::uint64_t> time_ns = {};
  std::optional<std::string> container = {};  ///< The image.
  std::optional<std::string> tag = {};

  auto operator<=>(const Requested&) const = default;
};

/// Whatever executes a program in this folder or below it, and its descendants. The folder need not exist yet.
struct InWorkDir {
  std::string path;  ///< Absolute, as the processes see it. Not "/".
};

/// A process that lives, and its descendants, those that it has already included.
struct OfProcess {
  pid_t pid = 0;
  /// As Process::start_ns; whether it still lives, and whose it is, is then not asked. Absent: whichever has the pid
  /// now.
  std::optional<std::uint64_t> start_ns = {};
};

/// All processes of a cgroup and of those below it.
struct InCgroup {
  std::string path;  ///< From the hierarchy's root: "/slurm/job_12". Not "/".
};

/// All processes of a container.
struct InContainer {
  std::string id;  ///< As the runtime gives it, or its first 12 or more characters.
};

/// All processes that an engine rule or label has found to be of this Slurm job.
struct InSlurmJob {
  std::string id;  ///< "12"
};

/// Descendants of a process whose arguments match, and their descendants.
struct BelowProcess {
  OfProcess process;
  /// A pattern for each word, "..." for any number of words: {"...", "align.sh", "S1", "..."}. * stands for any run of
  /// characters, ? for one. Not only "..." and "*".
  std::vector<std::string> argv;
};

using AnnouncementKey = std::variant<InWorkDir, OfProcess, InCgroup, InContainer, InSlurmJob, BelowProcess>;

struct Announcement {
  AnnouncementKey key;
  /// Says a task where it has a step, task or task_id; otherwise a run where it has a pipeline or run; otherwise only a
  /// sample or labels. Provenance is not read: all is kAnnounced. At most 64 KiB.
  Context context = {};
  Requested requested = {};
  /// From now on; not negative. By then it is dropped, unless its task lives; one that no process has met is counted.
  std::chrono::milliseconds expires_after = std::chrono::hours(24);
};

}  // namespace tracer
