// SPDX-License-Identifier: Apache-2.0
#include "base/own_usage.hpp"

#include <time.h>
#include <unistd.h>

#include <charconv>
#include <sstream>
#include <string>
#include <string_view>

#include "base/text.hpp"

namespace tracer::internal {
namespace {

std::optional<std::uint64_t> number_behind(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  std::uint64_t value = 0;
  const char* begin = text.data() + at + name.size();
  if (std::from_chars(begin, text.data() + text.size(), value).ec != std::errc()) return std::nullopt;
  return value;
}

std::optional<CallBytes> call_bytes(const std::string& path) noexcept try {
  const auto text = read_small_file(path);
  if (!text) return std::nullopt;
  const auto read = number_behind(*text, "rchar: ");
  const auto written = number_behind(*text, "wchar: ");
  if (!read || !written) return std::nullopt;
  return CallBytes{*read, *written, text->size()};
} catch (...) {
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> thread_cpu_ns(pid_t thread) noexcept {
  // The clock of a thread by its number, as pthread_getcpuclockid() makes it.
  constexpr unsigned kPerThread = 4;
  constexpr unsigned kScheduled = 2;
  const auto clock = static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | kPerThread | kScheduled);
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

std::optional<CallBytes> thread_io(pid_t thread) noexcept {
  return call_bytes("/proc/self/task/" + std::to_string(thread) + "/io");
}

std::optional<CallBytes> process_io() noexcept { return call_bytes("/proc/self/io"); }

std::optional<std::uint64_t> resident_bytes() {
  std::istringstream words(read_small_file("/proc/self/statm").value_or(""));
  std::uint64_t size_pages = 0;
  std::uint64_t resident_pages = 0;
  if (!(words >> size_pages >> resident_pages)) return std::nullopt;
  return resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace tracer::internal
