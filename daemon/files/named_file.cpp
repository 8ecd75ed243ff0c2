// SPDX-License-Identifier: Apache-2.0
#include "files/named_file.hpp"

#include <sys/stat.h>

#include <cerrno>

namespace tracerd {

std::optional<NamedFile> file_at(const std::string& path, int fd) {
  struct stat opened {};
  if (::fstat(fd, &opened) != 0 || !S_ISREG(opened.st_mode)) return std::nullopt;
  return NamedFile{path, opened.st_dev, opened.st_ino};
}

std::optional<NamedFile> named_file(const std::string& path, int fd) {
  auto file = file_at(path, fd);
  struct stat named {};
  if (file && (::lstat(path.c_str(), &named) != 0 || named.st_dev != file->device || named.st_ino != file->inode))
    file.reset();
  return file;
}

bool has_left_its_name(const NamedFile& file) noexcept {
  struct stat named {};
  // By a link that leads to it, it is still found.
  if (::stat(file.path.c_str(), &named) == 0) return named.st_dev != file.device || named.st_ino != file.inode;
  return errno == ENOENT || errno == ENOTDIR;
}

}  // namespace tracerd
