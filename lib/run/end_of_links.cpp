// SPDX-License-Identifier: Apache-2.0
#include <tracer/run.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <string>

#include "base/unique_fd.hpp"

namespace tracer {
namespace {

constexpr int kMostLinks = 40;  // As the kernel has it.

}  // namespace

std::string without_slashes(std::string name) {
  while (name.size() > 1 && (name.ends_with('/') || name.ends_with("/."))) name.pop_back();
  return name;
}

std::optional<LinkEnd> end_of_links(std::filesystem::path file) {
  if (::geteuid() != 0) return LinkEnd{std::move(file), true};
  for (int n = 0; n < kMostLinks; ++n) {
    const internal::UniqueFd found(::open(file.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat link {};
    if (!found || ::fstat(found.get(), &link) != 0 || !S_ISLNK(link.st_mode)) return LinkEnd{std::move(file), false};
    if (link.st_uid != 0) break;
    // What the kernel's own links lead to, such as that of /dev/stdout, may have no name.
    struct statfs system {};
    if (::fstatfs(found.get(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC)
      return LinkEnd{std::move(file), true};
    char to[PATH_MAX];
    const ssize_t size = ::readlinkat(found.get(), "", to, sizeof to);
    if (size <= 0 || static_cast<std::size_t>(size) == sizeof to) break;
    file = file.parent_path() / without_slashes(std::string(to, static_cast<std::size_t>(size)));
  }
  errno = ELOOP;
  return std::nullopt;
}

}  // namespace tracer
