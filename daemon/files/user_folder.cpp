// SPDX-License-Identifier: Apache-2.0
#include "files/user_folder.hpp"

#include <unistd.h>

#include <cstdlib>

namespace tracerd {
namespace {

std::filesystem::path absolute_of_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value == '/' ? std::filesystem::path(value) : std::filesystem::path();
}

}  // namespace

std::filesystem::path user_folder(const std::optional<tracer::User>& user, const char* variable,
                                  const char* below_home) {
  std::filesystem::path home;
  if (user && user->uid != ::geteuid()) {
    if (user->home) home = *user->home;
  } else {
    const std::filesystem::path folder = absolute_of_environment(variable);
    if (!folder.empty()) return folder;
    home = absolute_of_environment("HOME");
  }
  return home.is_absolute() ? home / below_home : std::filesystem::path();
}

}  // namespace tracerd
