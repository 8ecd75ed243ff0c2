// SPDX-License-Identifier: Apache-2.0
#include "source/proc/pid_namespace.hpp"

#include <sys/stat.h>

namespace tracer::internal {

std::uint32_t own_pid_namespace() noexcept {
  constexpr ino_t kInitial = 0xEFFFFFFC;  // PROC_PID_INIT_INO, since 3.8.
  struct stat status {};
  if (::stat("/proc/self/ns/pid", &status) != 0 || status.st_ino == kInitial) return 0;
  return static_cast<std::uint32_t>(status.st_ino);
}

bool shows_own_namespace(std::string_view status) noexcept {
  constexpr std::string_view kName = "\nNSpid:";
  const std::size_t at = status.find(kName);
  if (at == std::string_view::npos) return true;
  std::string_view numbers = status.substr(at + kName.size());
  numbers = numbers.substr(0, numbers.find('\n'));
  const std::size_t first = numbers.find_first_of("0123456789");
  return first != std::string_view::npos && numbers.find_first_of("\t ", first) == std::string_view::npos;
}

}  // namespace tracer::internal
