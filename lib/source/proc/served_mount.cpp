// SPDX-License-Identifier: Apache-2.0
#include "source/proc/served_mount.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/file_systems.hpp"
#include "base/path_below.hpp"
#include "base/proc_stat.hpp"
#include "base/text.hpp"

namespace tracer::internal {
namespace {

constexpr std::size_t kMostDescriptors = 256;

const SeenMount* mount_of(const std::vector<SeenMount>& mounts, const std::string& path) {
  const SeenMount* found = nullptr;
  // Of two at one place the later hides the earlier.
  for (const SeenMount& each : mounts)
    if (is_below(path, each.point) && (found == nullptr || each.point.size() >= found->point.size())) found = &each;
  return found;
}

/// Absent: none, or not to be read.
std::optional<std::string> link_at(const std::string& path) {
  std::error_code failed;
  auto target = std::filesystem::read_symlink(path, failed).string();
  if (failed || !target.starts_with('/')) return std::nullopt;
  return target;
}

/// The open file on which its first thread is at work. Absent: its call names none.
std::optional<std::string> file_of_call(const std::string& proc) {
  const auto text = read_small_file(proc + "/syscall");
  long number = -1;
  unsigned long descriptor = 0;
  if (!text || std::sscanf(text->c_str(), "%ld %lx", &number, &descriptor) != 2) return std::nullopt;
  constexpr long kOnDescriptor[] = {SYS_read,   SYS_write,  SYS_pread64, SYS_pwrite64, SYS_readv,     SYS_writev,
                                    SYS_preadv, SYS_fsync,  SYS_pwritev, SYS_fstat,    SYS_fdatasync, SYS_getdents64,
                                    SYS_close,  SYS_fchmod, SYS_fchown,  SYS_lseek,    SYS_ftruncate, SYS_fallocate};
  if (std::find(std::begin(kOnDescriptor), std::end(kOnDescriptor), number) == std::end(kOnDescriptor))
    return std::nullopt;
  return link_at(fmt::format("{}/fd/{}", proc, descriptor));
}

std::vector<std::string> open_files(const std::string& proc) {
  std::vector<std::string> paths;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(proc + "/fd", failed), end;
       !failed && at != end && paths.size() < kMostDescriptors; at.increment(failed))
    if (auto path = link_at(at->path().string())) paths.push_back(std::move(*path));
  return paths;
}

/// Words that may be paths, such as "data/x" and "--out=/mnt/y".
void add_named(std::vector<std::string>& paths, const std::string& folder, const std::vector<std::string>& arguments) {
  for (const std::string& each : arguments) {
    const std::size_t from = each.starts_with('-') ? each.find('=') + 1 : 0;
    if (from == 0 && each.starts_with('-')) continue;
    paths.push_back((std::filesystem::path(folder) / each.substr(from)).lexically_normal().string());
  }
}

std::string said_of(const SeenMount& mount) {
  const bool names_server = mount.source.find(':') != std::string::npos || mount.source.starts_with("//");
  return fmt::format("{} ({}{})", mount.point, mount.type, names_server ? ", " + mount.source : "");
}

}  // namespace

const SeenMount* served_mount_of(const std::vector<SeenMount>& mounts, const std::vector<std::string>& paths) {
  const SeenMount* found = nullptr;
  for (const std::string& path : paths) {
    const SeenMount* const mount = mount_of(mounts, path);
    if (mount == nullptr || !is_served_file_system(mount->type) || mount == found) continue;
    if (found != nullptr) return nullptr;
    found = mount;
  }
  return found;
}

std::optional<std::string> awaited_mount(std::uint32_t pid, std::uint64_t start_ns,
                                         const std::vector<std::string>& arguments) {
  const std::string proc = fmt::format("/proc/{}", pid);
  const std::vector<SeenMount> mounts = mounts_of(proc);
  const auto folder = link_at(proc + "/cwd");
  std::vector<std::string> used = open_files(proc);
  if (folder) add_named(used, *folder, arguments);
  const auto file = file_of_call(proc);
  const SeenMount* mount = nullptr;
  if (file) {
    mount = served_mount_of(mounts, {*file});
  } else if (mount = served_mount_of(mounts, used); mount == nullptr && folder) {
    const bool none = std::none_of(used.begin(), used.end(),
                                   [&](const std::string& path) { return served_mount_of(mounts, {path}) != nullptr; });
    if (none) mount = served_mount_of(mounts, {*folder});
  }
  if (mount == nullptr || !lives(pid, start_ns)) return std::nullopt;
  return said_of(*mount);
}

}  // namespace tracer::internal
