// SPDX-License-Identifier: Apache-2.0
#include "base/own_usage.hpp"

#include <unistd.h>

#include <sstream>

#include "base/text.hpp"

namespace tracer::internal {

std::optional<std::uint64_t> resident_bytes() {
  std::istringstream words(read_small_file("/proc/self/statm").value_or(""));
  std::uint64_t size_pages = 0;
  std::uint64_t resident_pages = 0;
  if (!(words >> size_pages >> resident_pages)) return std::nullopt;
  return resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace tracer::internal
