// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"

#include <sstream>
#include <string>

#include "base/text.hpp"

namespace tracer::internal {

std::int64_t parse_boot_offset_ns(std::string_view text) noexcept try {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string clock;
    std::int64_t seconds = 0;
    std::int64_t ns = 0;
    if (words >> clock >> seconds >> ns && clock == "boottime") return seconds * 1'000'000'000 + ns;
  }
  return 0;
} catch (...) {
  return 0;
}

std::int64_t boot_offset_ns() noexcept {
  static const std::int64_t offset_ns = [] {
    try {
      const auto text = read_small_file("/proc/self/timens_offsets");
      return text ? parse_boot_offset_ns(*text) : 0;
    } catch (...) {
      return std::int64_t{0};
    }
  }();
  return offset_ns;
}

}  // namespace tracer::internal
