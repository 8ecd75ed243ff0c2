// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace tracer::internal {

/// This machine serves a file system of this kind itself. Others may wait for another machine, or for a process.
inline bool is_local_file_system(std::string_view kind) noexcept {
  constexpr std::array<std::string_view, 20> kLocal = {
      "ext2",  "ext3", "ext4",  "xfs", "btrfs",  "tmpfs",    "ramfs",  "overlay",  "f2fs",  "vfat",
      "exfat", "zfs",  "ntfs3", "jfs", "nilfs2", "bcachefs", "rootfs", "squashfs", "erofs", "iso9660"};
  return std::find(kLocal.begin(), kLocal.end(), kind) != kLocal.end();
}

}  // namespace tracer::internal
