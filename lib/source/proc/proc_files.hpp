// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/proc_stat.hpp"
#include "source/raw_counters.hpp"
#include "source/records.hpp"

namespace tracer::internal {

/// /proc/PID/schedstat: of the first thread alone.
struct SchedulerTimes {
  std::uint64_t cpu_ns = 0;
  std::uint64_t run_queue_ns = 0;
};

/// /proc/PID/status.
struct ProcStatus {
  std::uint32_t uid = 0;                 ///< Real.
  std::optional<std::uint32_t> all_uid;  ///< Absent: its user ids differ. So does the next.
  std::optional<std::uint32_t> all_gid;
  std::optional<std::uint64_t> voluntary_switches;  ///< Of the first thread alone, as the next.
  std::optional<std::uint64_t> involuntary_switches;
  std::uint64_t peak_pages = 0;                ///< VmHWM; 0: it has no memory of its own, or has ended.
  std::optional<ThreadRecord::Memory> memory;  ///< Absent: likewise.
};

/// These take any text, and skip what they don't know.
std::optional<SchedulerTimes> parse_schedstat(std::string_view text);
/// Absent: it names no user.
std::optional<ProcStatus> parse_proc_status(std::string_view text);
/// /proc/PID/io into what RawAccount has of it. False: some of it is not there.
bool parse_proc_io(std::string_view text, RawAccount& account);

/// The files of a /proc. Whatever they tell of may end between two of them.
class ProcFiles {
 public:
  explicit ProcFiles(std::string root = "/proc");

  const std::string& root() const noexcept { return root_; }
  std::optional<ProcStat> stat(std::uint32_t pid) const;
  /// False where it lives, but can't be read now.
  bool is_gone(std::uint32_t pid) const noexcept;
  std::optional<SchedulerTimes> scheduler_times(std::uint32_t pid) const;
  std::optional<ProcStatus> status(std::uint32_t pid) const;
  /// False: it must not be read, or has ended.
  bool io(std::uint32_t pid, RawAccount& account) const;
  /// Its path in the hierarchy by which its cgroup is named: see docs/kernel-side.md.
  std::optional<std::pair<Hierarchy, std::string>> cgroup(std::uint32_t pid) const;

  /// The kernel lists the children of each thread (CONFIG_PROC_CHILDREN).
  bool lists_children() const noexcept { return lists_children_; }
  std::vector<std::uint32_t> threads(std::uint32_t pid) const;
  /// Those that this thread has made, and that live or were not waited for.
  std::vector<std::uint32_t> children(std::uint32_t pid, std::uint32_t tid) const;
  /// All that can be seen.
  std::vector<std::uint32_t> pids() const;

  struct Load {
    std::uint64_t threads = 0;  ///< Of all processes.
    std::uint64_t last_pid = 0;
  };
  /// Of /proc/loadavg.
  std::optional<Load> load() const;
  /// Processes and threads that were made since the machine started.
  std::optional<std::uint64_t> forks() const;

 private:
  std::optional<std::string> read(std::uint32_t pid, const char* name, std::size_t limit) const;
  std::vector<std::uint32_t> numbers_in(const std::string& folder) const;

  std::string root_;
  bool lists_children_;
};

}  // namespace tracer::internal
