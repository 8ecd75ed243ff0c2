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

/// Words behind the program that may be paths, such as "data/x" and "--out=/mnt/y": absolute ones, or the others.
void add_named(std::vector<std::string>& paths, const std::filesystem::path& folder, bool absolute,
               const std::vector<std::string>& arguments) {
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const bool is_option = arguments[i].starts_with('-');
    const std::size_t from = is_option ? arguments[i].find('=') + 1 : 0;
    if (is_option && from == 0) continue;
    const std::filesystem::path named = arguments[i].substr(from);
    if (named.is_absolute() == absolute) paths.push_back((folder / named).lexically_normal().string());
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

std::vector<std::vector<std::string>> paths_in_use(std::vector<std::string> open, const std::string& folder,
                                                   const std::vector<std::string>& arguments) {
  std::vector<std::vector<std::string>> paths{std::move(open), {}, {folder}};
  add_named(paths[0], folder, true, arguments);
  add_named(paths[1], folder, false, arguments);
  return paths;
}

std::optional<AwaitedMount> awaited_mount(std::uint32_t pid, std::uint64_t start_ns,
                                          const std::vector<std::string>& arguments) {
  const std::string proc = fmt::format("/proc/{}", pid);
  const std::vector<SeenMount> mounts = mounts_of(proc);
  const auto file = file_of_call(proc);
  std::vector<std::vector<std::string>> in_use{{}};
  if (file) {
    in_use = {{*file}};
  } else if (const auto folder = link_at(proc + "/cwd")) {
    in_use = paths_in_use(open_files(proc), *folder, arguments);
  }
  const auto is_served = [&](const std::string& path) { return served_mount_of(mounts, {path}) != nullptr; };
  const auto first = std::find_if(in_use.begin(), in_use.end(), [&](const std::vector<std::string>& paths) {
    return std::any_of(paths.begin(), paths.end(), is_served);
  });
  const SeenMount* const mount = first == in_use.end() ? nullptr : served_mount_of(mounts, *first);
  if (mount == nullptr || !lives(pid, start_ns)) return std::nullopt;
  return AwaitedMount{said_of(*mount), file.has_value()};
}

}  // namespace tracer::internal
