// SPDX-License-Identifier: Apache-2.0
#include "base/home_folder.hpp"

#include <pwd.h>

#include <array>
#include <cstdio>
#include <memory>

namespace tracer::internal {

std::optional<std::string> home_folder(uid_t uid) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/etc/passwd", "re"), &std::fclose);
  if (!file) return std::nullopt;
  passwd entry = {};
  passwd* found = nullptr;
  std::array<char, 4096> texts;
  while (::fgetpwent_r(file.get(), &entry, texts.data(), texts.size(), &found) == 0)
    if (entry.pw_uid == uid) return entry.pw_dir;
  return std::nullopt;
}

}  // namespace tracer::internal
