// SPDX-License-Identifier: Apache-2.0
#include "source/proc/file_system_space.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/file_systems.hpp"
#include "base/number.hpp"
#include "base/path_below.hpp"
#include "base/proc_stat.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace tracer::internal {
namespace {

constexpr unsigned kMinorBitsOfDevice = 20;
constexpr std::size_t kMostMountinfo = 4u << 20;
constexpr std::size_t kMostLookedAt = 64;

std::string_view next_word(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return word;
}

/// Spaces, tabs, line ends and backslashes are written as three octal digits.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 4, value, 8).ptr == text.data() + i + 4) {
      out += static_cast<char>(value);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::optional<SeenMount> parse_mount(std::string_view line) {
  SeenMount mount;
  const auto id = parse_number<std::uint64_t>(next_word(line));
  next_word(line);
  const std::string_view device = next_word(line);
  const std::size_t colon = device.find(':');
  if (!id || colon == std::string_view::npos) return std::nullopt;
  const auto major = parse_number<std::uint64_t>(device.substr(0, colon));
  const auto minor = parse_number<std::uint64_t>(device.substr(colon + 1));
  if (!major || !minor) return std::nullopt;
  mount.id = *id;
  mount.device = *major << kMinorBitsOfDevice | *minor;
  next_word(line);
  mount.point = unescaped(next_word(line));
  const std::size_t end = line.find(" - ");
  if (end == std::string_view::npos) return std::nullopt;
  line.remove_prefix(end + 3);
  mount.type = next_word(line);
  mount.source = unescaped(next_word(line));
  return mount;
}

/// Exactly this mount: a name may lead elsewhere by now.
bool is_mount(int fd, std::uint64_t id) {
  const auto info = read_small_file(fmt::format("/proc/self/fdinfo/{}", fd));
  return info && info->find(fmt::format("mnt_id:\t{}\n", id)) != std::string::npos;
}

/// Exactly this one, among the mounts of those whose root folder this is.
UniqueFd open_mount(const SeenMount& mount, const std::string& root) {
  const UniqueFd folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return {};
  struct open_how how = {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS;
  UniqueFd point(static_cast<int>(::syscall(SYS_openat2, folder.get(), mount.point.c_str(), &how, sizeof how)));
  return point && is_mount(point.get(), mount.id) ? std::move(point) : UniqueFd();
}

std::optional<struct statvfs> room_of(int mount) {
  struct statvfs about = {};
  if (::fstatvfs(mount, &about) != 0 || about.f_blocks == 0 || (about.f_flag & ST_RDONLY) != 0) return std::nullopt;
  return about;
}

/// Of this size before. Nothing where that is not known.
std::uint64_t removed_of(const WrittenFile& file, int mount, const std::string& point) {
  if (!is_below(file.path, point) || file.path.size() <= point.size()) return 0;
  struct open_how how = {};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS;
  const char* const below = file.path.c_str() + file.path.find_first_not_of('/', point == "/" ? 0 : point.size());
  const UniqueFd found(static_cast<int>(::syscall(SYS_openat2, mount, below, &how, sizeof how)));
  struct stat now = {};
  if (found ? ::fstat(found.get(), &now) != 0 : errno != ENOENT && errno != ENOTDIR) return 0;
  const auto still = found && now.st_ino == file.inode ? static_cast<std::uint64_t>(now.st_size) : 0;
  return file.size_bytes - std::min(file.size_bytes, still);
}

std::optional<FileSystemSpace> space_of(const SeenMount& mount, const std::string& root,
                                        const SpaceQuestion& question) {
  const UniqueFd point = open_mount(mount, root);
  if (!point) return std::nullopt;
  FileSystemSpace space;
  // Before the room: what is removed in between was there, for all that is known.
  for (const WrittenFile& file : question.files) space.removed_bytes += removed_of(file, point.get(), mount.point);
  const auto about = room_of(point.get());
  if (!about) return std::nullopt;
  space.mount_point = mount.point;
  space.type = mount.type;
  space.size_bytes = std::uint64_t{about->f_blocks} * about->f_frsize;
  space.free_bytes = std::uint64_t{question.for_root ? about->f_bfree : about->f_bavail} * about->f_frsize;
  space.inodes = about->f_files;
  space.free_inodes = question.for_root ? about->f_ffree : about->f_favail;
  return space;
}

std::optional<FileSystemSpace> space_seen_by(const std::string& proc, const SpaceQuestion& question) {
  const std::vector<SeenMount> mounts = mounts_of(proc);
  const SeenMount* const mount = mount_to_ask(mounts, question.device, question.path);
  return mount == nullptr ? std::nullopt : space_of(*mount, proc + "/root", question);
}

}  // namespace

std::vector<SeenMount> mounts_of(const std::string& proc) {
  return parse_mounts(read_small_file(proc + "/mountinfo", kMostMountinfo).value_or(""));
}

std::vector<SeenMount> parse_mounts(std::string_view mountinfo) {
  std::vector<SeenMount> mounts;
  while (!mountinfo.empty()) {
    const std::size_t end = std::min(mountinfo.find('\n'), mountinfo.size());
    if (auto mount = parse_mount(mountinfo.substr(0, end))) mounts.push_back(std::move(*mount));
    mountinfo.remove_prefix(std::min(end + 1, mountinfo.size()));
  }
  return mounts;
}

const SeenMount* mount_to_ask(const std::vector<SeenMount>& mounts, std::uint64_t device, std::string_view path) {
  const SeenMount* found = nullptr;
  bool found_holds = false;
  for (const SeenMount& each : mounts) {
    if (each.device != device) continue;
    const bool holds = is_below(path, each.point);
    // Of two at one place the later hides the earlier.
    if (found != nullptr && (found_holds && (!holds || each.point.size() < found->point.size()))) continue;
    if (found != nullptr && !found_holds && !holds) continue;
    found = &each;
    found_holds = holds;
  }
  if (found == nullptr) return nullptr;
  const bool may_hang = std::any_of(mounts.begin(), mounts.end(), [found](const SeenMount& each) {
    return !is_local_file_system(each.type) && is_below(found->point, each.point);
  });
  return may_hang ? nullptr : found;
}

std::optional<FileSystemSpace> file_system_space(const SpaceQuestion& question) {
  if (auto space = space_seen_by("/proc/self", question)) return space;
  for (const auto& [pid, start_ns] : question.near) {
    if (!lives(static_cast<std::uint32_t>(pid), start_ns)) continue;
    if (auto space = space_seen_by(fmt::format("/proc/{}", pid), question)) return space;
  }
  return std::nullopt;
}

SpaceLook look_at_file_systems() {
  SpaceLook look;
  look.time_ns = boot_time_ns();
  const std::vector<SeenMount> mounts = mounts_of("/proc/self");
  std::set<std::uint64_t> devices;
  for (const SeenMount& each : mounts) {
    if (!is_local_file_system(each.type) || devices.size() >= kMostLookedAt || !devices.insert(each.device).second)
      continue;
    const SeenMount* const mount = mount_to_ask(mounts, each.device, each.point);
    const UniqueFd point = mount == nullptr ? UniqueFd() : open_mount(*mount, "/");
    const auto about = point ? room_of(point.get()) : std::nullopt;
    if (about)
      look.by_device[each.device] = {std::uint64_t{about->f_bavail} * about->f_frsize,
                                     std::uint64_t{about->f_bfree} * about->f_frsize};
  }
  return look;
}

}  // namespace tracer::internal
