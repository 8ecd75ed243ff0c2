// SPDX-License-Identifier: Apache-2.0
/// How much room a mounted file system has. Never asks one that others serve, such as NFS or FUSE: it may hang.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tracer::internal {

struct FileSystemSpace {
  std::string mount_point;  ///< As those see it whose mounts these are.
  std::string type;         ///< "ext4", "tmpfs" …
  std::uint64_t size_bytes = 0;
  std::uint64_t free_bytes = 0;   ///< For the one who was asked for: root may use what others may not.
  std::uint64_t inodes = 0;       ///< 0: it has no fixed number.
  std::uint64_t free_inodes = 0;  ///< With `inodes`.
  /// What the files that were asked for took, and do no more, as they are gone or shorter. At least.
  std::uint64_t removed_bytes = 0;
};

/// A file that was written, as the process saw it.
struct WrittenFile {
  std::string path;
  std::uint64_t inode = 0;
  std::uint64_t size_bytes = 0;
};

struct SpaceQuestion {
  std::uint64_t device = 0;  ///< As the kernel has it in s_dev.
  std::string path;          ///< Of a file on it, as the process saw it.
  bool for_root = false;
  std::vector<WrittenFile> files = {};  ///< On that device.
  /// Processes that may see mounts that this one does not: pids and start times.
  std::vector<std::pair<pid_t, std::uint64_t>> near = {};
};

/// A line of /proc/PID/mountinfo.
struct SeenMount {
  std::uint64_t id = 0;
  std::uint64_t device = 0;
  std::string point;
  std::string type;
  std::string source;  ///< What is mounted: "/dev/vda1", "host:/path" …
};

/// Of a process, by its folder in /proc. Empty: it must not be read, or is gone.
std::vector<SeenMount> mounts_of(const std::string& proc);
/// In the order of the file. What is none of such lines is left out.
std::vector<SeenMount> parse_mounts(std::string_view mountinfo);
/// The one of `device` to ask: that which `path` is on, else the first. Null: there is none, it is not local, or on the
/// way to it is one that is not.
const SeenMount* mount_to_ask(const std::vector<SeenMount>& mounts, std::uint64_t device, std::string_view path);

/// Absent: nobody sees it mounted, it may hang, has no size, or can't be written.
std::optional<FileSystemSpace> file_system_space(const SpaceQuestion& question);

/// What was free on the file systems that this process sees and that can be asked, at one moment; at most 64.
struct SpaceLook {
  struct Free {
    std::uint64_t bytes = 0;
    std::uint64_t for_root_bytes = 0;
  };
  std::uint64_t time_ns = 0;  ///< By the clock of events.
  std::map<std::uint64_t, Free> by_device = {};
};
SpaceLook look_at_file_systems();

}  // namespace tracer::internal
