// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace tracerd {

/// Which regular file stands at a name.
struct NamedFile {
  std::string path;  ///< As it was given: this program never changes its folder while it traces.
  dev_t device = 0;
  ino_t inode = 0;
};

/// Absent: what was opened is no regular file, or is not at this name itself.
std::optional<NamedFile> named_file(const std::string& path, int fd);
/// That it is at this name is known.
std::optional<NamedFile> file_at(const std::string& path, int fd);
/// The name leads elsewhere by now, or nowhere. False, too, where that can't be seen.
bool has_left_its_name(const NamedFile& file) noexcept;

}  // namespace tracerd
