// SPDX-License-Identifier: Apache-2.0
/// Disks, and limits on them and on memory, for tests. All is undone when these objects end.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

/// A folder on a file system with storage behind it; empty: there is none.
std::string storage_folder();

/// Into a file that is there, such as one of a cgroup; false: it was refused.
bool write_text(const std::string& file, const std::string& text);

/// A disk on which a test may write: the empty one of an emulated machine, else a loop device of `bytes`, at most 64
/// MiB.
class ScratchDisk {
 public:
  /// Absent: this machine gives none.
  static std::optional<ScratchDisk> make(std::uint64_t bytes);
  ScratchDisk(ScratchDisk&& other) noexcept;
  ScratchDisk& operator=(ScratchDisk&&) = delete;
  ~ScratchDisk();

  const std::string& path() const { return path_; }
  /// "MAJOR:MINOR".
  std::string number() const;

 private:
  ScratchDisk() = default;
  std::string path_;
  int open_ = -1;  ///< With its last descriptor a loop device goes, and the last to close any disk waits for its reads.
};

/// A new cgroup with a controller, of version 1 or 2 as the machine has it.
class LimitedCgroup {
 public:
  static std::optional<LimitedCgroup> make(const std::string& controller);
  /// Of version 2, without a controller. Absent: this machine has no such hierarchy.
  static std::optional<LimitedCgroup> make_v2();
  /// Another below this one; must go before it.
  std::optional<LimitedCgroup> make_below(const std::string& controller) const;
  LimitedCgroup(LimitedCgroup&& other) noexcept;
  LimitedCgroup& operator=(LimitedCgroup&&) = delete;
  ~LimitedCgroup();

  bool is_v1() const { return is_v1_; }
  /// The file into which a process writes 0 to join.
  std::string procs() const { return folder_ + "/cgroup.procs"; }
  /// False: the kernel has or allows no such limit.
  bool limit(const std::string& file, const std::string& value) const;
  /// The number after `name` in one of its files, or the first in it; absent: there is none.
  std::optional<std::uint64_t> number(const std::string& file, const std::string& name = {}) const;
  /// Moves a living process there.
  bool take(pid_t pid) const { return limit("cgroup.procs", std::to_string(pid)); }
  const std::string& folder() const { return folder_; }

 private:
  LimitedCgroup() = default;
  static std::optional<LimitedCgroup> make_in(const std::string& folder, bool is_v1);
  std::string folder_;
  bool is_v1_ = false;
};
