// SPDX-License-Identifier: Apache-2.0
#include "source/gpu/driver_libraries.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <utility>

#include <fmt/format.h>

namespace tracer::internal {
namespace {

/// No file: it is not there, or not to be trusted.
DriverLibrary library_at(const std::string& path, const GpuLibraryRule& rule) {
  DriverLibrary library;
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return library;
  if ((status.st_uid != 0 && status.st_uid != ::geteuid()) || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return library;
  char real[PATH_MAX];
  const ssize_t size = ::readlink(fmt::format("/proc/self/fd/{}", file.get()).c_str(), real, sizeof real);
  if (size <= 0 || static_cast<std::size_t>(size) == sizeof real) return library;
  library.path.assign(real, static_cast<std::size_t>(size));
  library.inode = status.st_ino;
  library.device = status.st_dev;
  library.rule = &rule;
  library.file = std::move(file);
  return library;
}

}  // namespace

std::vector<DriverLibrary> driver_libraries(const GpuLibraryRules& rules) {
  std::vector<DriverLibrary> libraries;
  for (const GpuLibraryRule& rule : rules.libraries())
    for (const std::string& folder : rules.folders())
      for (const std::string& name : rule.files) {
        DriverLibrary library = library_at(fmt::format("{}/{}", folder, name), rule);
        const bool known = std::any_of(libraries.begin(), libraries.end(), [&library](const DriverLibrary& other) {
          return other.inode == library.inode && other.device == library.device;
        });
        if (library.file && !known) libraries.push_back(std::move(library));
      }
  return libraries;
}

}  // namespace tracer::internal
