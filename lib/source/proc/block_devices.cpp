// SPDX-License-Identifier: Apache-2.0
#include "source/proc/block_devices.hpp"

#include <cstdio>
#include <filesystem>
#include <limits>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include "base/text.hpp"

namespace tracer::internal {
namespace {

constexpr unsigned kMinorBits = 20;

std::string folder_of(std::uint32_t device) {
  return fmt::format("/sys/dev/block/{}:{}", device >> kMinorBits, device & ((1u << kMinorBits) - 1));
}

std::optional<std::uint64_t> busy_ns_in(const std::string& folder) {
  constexpr int kFieldsBefore = 9;
  constexpr std::uint64_t kNsPerMs = 1'000'000;
  if (const auto counts = read_small_file(folder + "/queue/iostats"); counts && trim(*counts) == "0")
    return std::nullopt;
  const auto text = read_small_file(folder + "/stat");
  if (!text) return std::nullopt;
  std::istringstream fields(*text);
  std::uint64_t value = 0;
  for (int i = 0; i < kFieldsBefore; ++i) fields >> value;
  if (!(fields >> value)) return std::nullopt;
  return value * kNsPerMs;
}

}  // namespace

std::optional<std::string> device_name(std::uint32_t device) {
  std::error_code failed;
  const auto target = std::filesystem::read_symlink(folder_of(device), failed);
  if (failed) return std::nullopt;
  return target.filename().string();
}

std::optional<std::uint64_t> device_busy_ns(std::uint32_t device) { return busy_ns_in(folder_of(device)); }

std::map<std::uint32_t, std::uint64_t> busy_ns_of_devices() {
  std::map<std::uint32_t, std::uint64_t> all;
  std::error_code failed;
  for (std::filesystem::directory_iterator at("/sys/block", failed), end; !failed && at != end; at.increment(failed)) {
    const std::string folder = at->path().string();
    const auto number = read_small_file(folder + "/dev");
    unsigned major = 0;
    unsigned minor = 0;
    if (!number || std::sscanf(number->c_str(), "%u:%u", &major, &minor) != 2) continue;
    if (const auto busy_ns = busy_ns_in(folder)) all[major << kMinorBits | minor] = *busy_ns;
  }
  return all;
}

}  // namespace tracer::internal
