// SPDX-License-Identifier: Apache-2.0
#include "process/given_environment.hpp"

#include <sys/auxv.h>

#include <cstdint>
#include <sstream>

#include "base/text.hpp"

namespace tracerd {

std::optional<std::vector<std::string>> given_environment() {
  if (::getauxval(AT_SECURE) == 0) return std::nullopt;
  // Its own memory tells: /proc/self/environ may be read by root only.
  const std::string stat = tracer::internal::read_small_file("/proc/self/stat").value_or("");
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  constexpr int kEnvStart = 50;
  std::string skipped;
  for (int field = 3; field < kEnvStart; ++field) fields >> skipped;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  if (!(fields >> begin >> end)) return std::nullopt;
  std::vector<std::string> all;
  for (; begin < end; begin += all.back().size() + 1) all.emplace_back(reinterpret_cast<const char*>(begin));
  return all;
}

}  // namespace tracerd
