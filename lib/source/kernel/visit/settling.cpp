// SPDX-License-Identifier: Apache-2.0
#include "source/kernel/visit/settling.hpp"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"

namespace tracer::internal {
namespace {

/// By /proc/PID/stat: "pid (name) state ...", where the number of threads is 17 fields behind the state.
bool lives(std::uint32_t pid) {
  const auto stat = read_small_file(fmt::format("/proc/{}/stat", pid), 4096);
  if (!stat || stat->empty()) return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno != ESRCH;
  std::size_t at = stat->rfind(") ");
  if (at == std::string::npos || at + 2 >= stat->size()) return true;
  const char state = (*stat)[at += 2];
  if (state != 'Z' && state != 'X') return true;
  // The first thread may have ended before others.
  for (int field = 0; field < 17 && at != std::string::npos; ++field) at = stat->find(' ', at + 1);
  return at != std::string::npos && std::strtoul(stat->c_str() + at, nullptr, 10) > 1;
}

}  // namespace

void let_ending_end(const KernelCounters& counters, std::chrono::milliseconds most) {
  constexpr useconds_t kPauseUs = 500;
  const auto until = std::chrono::steady_clock::now() + most;
  const auto in_time = [until] { return std::chrono::steady_clock::now() < until; };
  std::vector<KernelCounters::Tracked> ending = counters.tracked();
  // Each look costs some microseconds, and there may be many.
  std::erase_if(ending, [&](const KernelCounters::Tracked& each) { return in_time() && lives(each.pid); });
  while (!ending.empty() && in_time()) {
    ::usleep(kPauseUs);
    std::erase_if(ending, [&](const KernelCounters::Tracked& each) { return !counters.tracks(each.number); });
  }
}

}  // namespace tracer::internal
