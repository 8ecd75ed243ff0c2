// SPDX-License-Identifier: Apache-2.0
#include "base/folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <cstdint>

#include "base/unique_fd.hpp"

namespace tracer::internal {
namespace {

/// As in the kernel side: subvolumes have inodes of equal numbers, and whoever mounts by FUSE chooses them.
bool has_telling_numbers(std::uint32_t magic) noexcept {
  constexpr std::uint32_t kBtrfs = 0x9123683e;
  constexpr std::uint32_t kBcachefs = 0xca451a4e;
  constexpr std::uint32_t kFuse = 0x65735546;
  return magic != kBtrfs && magic != kBcachefs && magic != kFuse;
}

}  // namespace

std::optional<Folder> folder_at(const std::filesystem::path& path) {
  return folder_of(UniqueFd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
}

std::optional<Folder> folder_of(const UniqueFd& folder) {
  struct stat status {};
  struct statfs system {};
  if (!folder || ::fstat(folder.get(), &status) != 0 || ::fstatfs(folder.get(), &system) != 0) return std::nullopt;
  if (!has_telling_numbers(static_cast<std::uint32_t>(system.f_type))) return std::nullopt;
  constexpr unsigned kMinorBits = 20;
  return Folder{status.st_ino, ::major(status.st_dev) << kMinorBits | ::minor(status.st_dev), status.st_uid,
                host_mount_namespace()};
}

std::uint32_t host_mount_namespace() noexcept {
  struct stat status {};
  for (const char* path : {"/proc/1/ns/mnt", "/proc/self/ns/mnt"})
    if (::stat(path, &status) == 0) return static_cast<std::uint32_t>(status.st_ino);
  return 0;
}

}  // namespace tracer::internal
