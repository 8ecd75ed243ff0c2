// SPDX-License-Identifier: Apache-2.0
#include "process/copy_with_rights.hpp"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <tracer/check.hpp>
#include <tracer/error.hpp>
#include <tracer/source.hpp>
#include <tracer/tier.hpp>

namespace tracerd {
namespace {

/// It is root's, who alone may have written it, and has capabilities.
bool is_to_be_trusted() {
  struct stat file = {};
  if (::lstat(kCopyWithRights, &file) != 0 || !S_ISREG(file.st_mode) || file.st_uid != 0) return false;
  if ((file.st_mode & (S_IWGRP | S_IWOTH)) != 0) return false;
  return ::getxattr(kCopyWithRights, "security.capability", nullptr, 0) > 0;
}

bool is_this_one() {
  struct stat own = {}, copy = {};
  return ::stat("/proc/self/exe", &own) == 0 && ::stat(kCopyWithRights, &copy) == 0 && own.st_dev == copy.st_dev &&
         own.st_ino == copy.st_ino;
}

}  // namespace

void become_copy_with_rights(char** argv) {
  if (::geteuid() == 0 || !is_to_be_trusted() || ::access(kCopyWithRights, X_OK) != 0 || is_this_one()) return;
  if (tracer::check().usable()) return;
  ::execv(kCopyWithRights, argv);
}

}  // namespace tracerd
