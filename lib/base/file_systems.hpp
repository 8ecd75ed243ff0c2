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

/// Another machine, or a process, serves it. Neither this nor a local one is what the kernel shows of itself, as
/// "proc".
inline bool is_served_file_system(std::string_view kind) noexcept {
  constexpr std::array<std::string_view, 17> kServed = {"nfs",      "nfs4",  "cifs",  "smb3",   "ceph",   "lustre",
                                                        "9p",       "afs",   "gpfs",  "wekafs", "beegfs", "virtiofs",
                                                        "orangefs", "pvfs2", "panfs", "gfs2",   "ocfs2"};
  return kind == "fuse" || kind.starts_with("fuse.") ||
         std::find(kServed.begin(), kServed.end(), kind) != kServed.end();
}

}  // namespace tracer::internal
