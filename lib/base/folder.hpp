// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/unique_fd.hpp"

namespace tracer::internal {

/// A folder as the kernel knows it, whatever its path is.
struct Folder {
  std::uint64_t inode = 0;
  std::uint32_t device = 0;  ///< The kernel's own number: major << 20 | minor.
  uid_t owner = 0;
  std::uint32_t mount_namespace = 0;  ///< In which its path leads to it; 0: not known.
};

constexpr bool is_same(const Folder& one, const Folder& other) noexcept {
  return one.inode == other.inode && one.device == other.device;
}
/// Both were seen, and by paths of two mount namespaces, as within a container and outside of it.
constexpr bool seen_apart(const Folder& one, const Folder& other) noexcept {
  return one.mount_namespace != 0 && other.mount_namespace != 0 && one.mount_namespace != other.mount_namespace;
}
/// Of two that one path leads to: it leads to one folder here and to another there.
constexpr bool contradict(const Folder& one, const Folder& other) noexcept {
  return seen_apart(one, other) && !is_same(one, other);
}

/// The folder that the path leads to on this host. Absent: there is none, or its number says nothing. May wait for a
/// file system.
std::optional<Folder> folder_at(const std::filesystem::path& path);
/// Likewise, that was opened.
std::optional<Folder> folder_of(const UniqueFd& folder);
/// Of the host's first process, if this process may know it, else its own; 0: not known.
std::uint32_t host_mount_namespace() noexcept;

}  // namespace tracer::internal
